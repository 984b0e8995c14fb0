-- SPDX-License-Identifier: GPL-2.0-only
-- A table whose changes are told on the channel page, when they are committed.
CREATE TABLE page (name text PRIMARY KEY, content text NOT NULL);

CREATE FUNCTION page_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF TG_OP = 'TRUNCATE' THEN
		PERFORM pg_notify('page', '*');
	END IF;
	IF TG_OP IN ('UPDATE', 'DELETE') THEN
		PERFORM pg_notify('page', OLD.name);
	END IF;
	IF TG_OP IN ('INSERT', 'UPDATE') THEN
		PERFORM pg_notify('page', NEW.name);
	END IF;
	RETURN NULL;
END
$$;

CREATE TRIGGER page_changed AFTER INSERT OR UPDATE OR DELETE ON page
	FOR EACH ROW EXECUTE FUNCTION page_changed();
CREATE TRIGGER page_emptied AFTER TRUNCATE ON page
	FOR EACH STATEMENT EXECUTE FUNCTION page_changed();
