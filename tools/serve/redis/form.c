// SPDX-License-Identifier: GPL-2.0-only
/*
 * One form for the texts of scripts that mean the same: programs write "compare and delete" in many
 * ways. What is left out has no meaning in Lua: blanks, comments, semicolons, the kind of quotes,
 * and the case of a command. A local variable that is a key, an argument or the result of GET is
 * replaced by that, and others get names that no script can have: $a, $b and so on.
 *
 * GET would be moved to a later place by that. So in a known form no call that changes the entry
 * runs before a GET.
 */
#include <ctype.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "array_size.h"
#include "form.h"

/* Local variables of a script. */
#define LOCALS_MAX	8

/**
 * struct form - a text that is read, and its form
 * @at:		where the rest of the text begins
 * @end:	its end
 * @token:	the token that was read last
 * @to:		the form
 * @len:	its length
 * @is_bad:	no known script is like this
 * @letters:	number of variables that got a name
 * @count:	number of @locals
 * @locals:	variables, and what stands for them
 */
struct form {
	const char *at;
	const char *end;
	struct word token;
	char *to;
	size_t len;
	bool is_bad;
	unsigned int letters;
	unsigned int count;
	struct {
		struct word name;
		char value[64];
	} locals[LOCALS_MAX];
};

static bool is_name(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static void skip_blanks(struct form *form)
{
	while (form->at < form->end) {
		if (isspace((unsigned char)*form->at) || *form->at == ';') {
			form->at++;
		} else if (form->end - form->at >= 2 && !memcmp(form->at, "--", 2)) {
			/* That of several lines is in no known script. */
			form->is_bad |= form->end - form->at > 2 && form->at[2] == '[';
			while (form->at < form->end && *form->at != '\n')
				form->at++;
		} else {
			break;
		}
	}
}

/* Goes behind a string. One that is no word is in no known script. */
static const char *skip_string(struct form *form)
{
	char quote = *form->at;
	const char *at = form->at + 1;

	while (at < form->end && is_name(*at))
		at++;
	form->is_bad |= at == form->end || *at != quote;
	return at < form->end ? at + 1 : at;
}

/* Reads the next token; an empty one at the end. */
static void next(struct form *form)
{
	const char *at;

	skip_blanks(form);
	at = form->at;
	if (at < form->end && is_name(*at)) {
		while (at < form->end && is_name(*at))
			at++;
	} else if (at < form->end && (*at == '"' || *at == '\'')) {
		at = skip_string(form);
	} else if (at < form->end) {
		form->is_bad |= *at == '$' || !*at;
		at++;
		/* "==" and the like. */
		if (at < form->end && *at == '=')
			at++;
	}
	form->token = (struct word){ form->at, at - form->at };
	form->at = at;
}

static bool is(const struct word *token, const char *text)
{
	return token->len == strlen(text) && !memcmp(token->at, text, token->len);
}

static void put(struct form *form, const char *text, size_t len)
{
	bool parts = form->len && len && is_name(form->to[form->len - 1]) && is_name(*text);

	if (form->len + parts + len >= FORM_SIZE) {
		form->is_bad = true;
		return;
	}
	if (parts)
		form->to[form->len++] = ' ';
	memcpy(form->to + form->len, text, len);
	form->len += len;
	form->to[form->len] = '\0';
}

static bool ends_with(const struct form *form, const char *text)
{
	size_t len = strlen(text);

	return form->len >= len && !memcmp(form->to + form->len - len, text, len);
}

/* A string: of a command that is called, in small letters. */
static void put_string(struct form *form)
{
	bool is_command = ends_with(form, "redis.call(");
	size_t i, from;

	put(form, "\"", 1);
	from = form->len;
	put(form, form->token.at + 1, form->token.len - 2);
	for (i = from; is_command && i < form->len; i++)
		form->to[i] = tolower((unsigned char)form->to[i]);
	put(form, "\"", 1);
}

static const char *find_local(const struct form *form)
{
	unsigned int i = form->count;

	/* A later one of the same name hides the others. */
	while (i--)
		if (form->token.len == form->locals[i].name.len &&
		    !memcmp(form->token.at, form->locals[i].name.at, form->token.len))
			return form->locals[i].value;
	return NULL;
}

/* Puts the token that was read. */
static void put_token(struct form *form)
{
	const char *value = find_local(form);

	/* A member of a table is no variable. */
	if (value && !ends_with(form, "."))
		put(form, value, strlen(value));
	else if (form->token.len && (*form->token.at == '"' || *form->token.at == '\''))
		put_string(form);
	else
		put(form, form->token.at, form->token.len);
}

/* Whether the form from @from on is what takes the place of a variable: that alone. */
static bool is_value(const struct form *form, size_t from)
{
	static const char * const values[] = {
		"KEYS\\[[1-9]]", "ARGV\\[[1-9]]", "tonumber(ARGV\\[[1-9]])",
		"redis.call(\"get\",KEYS\\[[1-9]])",
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(values); i++)
		if (!fnmatch(values[i], form->to + from, 0))
			return true;
	return false;
}

/* Puts the tokens up to the one that ends a bracket. Return: false if the text has ended. */
static bool put_bracket(struct form *form)
{
	unsigned int depth = 0;

	do {
		depth += is(&form->token, "(") || is(&form->token, "[");
		depth -= is(&form->token, ")") || is(&form->token, "]");
		put_token(form);
		next(form);
	} while (depth && form->token.len && !form->is_bad);
	return !depth;
}

/* Reads the tokens of a text. */
static bool skip(struct form *form, const char *const *tokens)
{
	for (; *tokens; tokens++) {
		if (!is(&form->token, *tokens))
			return false;
		next(form);
	}
	return true;
}

/* "local NAME, NAME = unpack(ARGV)": the names are those of the arguments. */
static void put_locals(struct form *form, const struct word *first)
{
	static const char * const value[] = { "=", "unpack", "(", "ARGV", ")", NULL };
	struct word name = *first;
	unsigned int i;

	for (i = 1;; i++) {
		if (form->count == LOCALS_MAX || !name.len || !is_name(*name.at)) {
			form->is_bad = true;
			return;
		}
		form->locals[form->count].name = name;
		sprintf(form->locals[form->count++].value, "ARGV[%u]", i);
		if (!is(&form->token, ","))
			break;
		next(form);
		name = form->token;
		next(form);
	}
	form->is_bad |= !skip(form, value);
}

/* "local NAME = VALUE", whose value is a name, with dots, and one bracket. */
static void put_local(struct form *form)
{
	char letter[] = { '$', 'a' + form->letters, '\0' };
	size_t begin = form->len, from;
	struct word name;

	next(form);
	name = form->token;
	next(form);
	if (is(&form->token, ",")) {
		put_locals(form, &name);
		return;
	}
	if (!is(&form->token, "=") || !name.len || form->count == LOCALS_MAX) {
		form->is_bad = true;
		return;
	}
	put(form, "local", 5);
	put(form, letter, 2);
	put(form, "=", 1);
	from = form->len;
	next(form);
	while (form->token.len && (is_name(*form->token.at) || is(&form->token, "."))) {
		put_token(form);
		next(form);
	}
	if (form->is_bad || !put_bracket(form)) {
		form->is_bad = true;
		return;
	}
	form->locals[form->count].name = name;
	strcpy(form->locals[form->count].value, letter);
	if (is_value(form, from)) {
		if (form->len - from >= sizeof(form->locals[0].value)) {
			form->is_bad = true;
			return;
		}
		strcpy(form->locals[form->count].value, form->to + from);
		form->len = begin;
		form->to[begin] = '\0';
	} else {
		form->letters++;
	}
	form->count++;
}

/* Replaces the first place of @old by @new, which is not longer. */
static bool replace(char *form, const char *old, const char *new)
{
	char *at = strstr(form, old);

	if (!at)
		return false;
	memmove(at + strlen(new), at + strlen(old), strlen(at + strlen(old)) + 1);
	memcpy(at, new, strlen(new));
	return true;
}

/* "if(X)then" is "if X then". */
static void open_condition(char *form)
{
	char *from = strstr(form, "if("), *at = from;
	int depth = 0;

	if (!from)
		return;
	for (at += 2; *at; at++) {
		depth += (*at == '(') - (*at == ')');
		if (!depth)
			break;
	}
	if (strncmp(at, ")then", 5))
		return;
	from[2] = ' ';
	if (is_name(at[-1]))
		*at = ' ';
	else
		memmove(at, at + 1, strlen(at));
}

/*
 * Some things are written in two ways: the last branch of a script, and a number as such. An
 * argument of a command is a string in any case.
 */
static void unify(char *form)
{
	static const char branch[] = "else return 0 end";
	char number[] = " tonumber($a)", argument[] = ",tonumber(ARGV[1])", plain[] = ",ARGV[1]";
	size_t len = strlen(form);
	char i;

	if (len > strlen(branch) && !strcmp(form + len - strlen(branch), branch))
		strcpy(form + len - strlen(branch), "end return 0");
	open_condition(form);
	for (i = 'a'; i < 'a' + LOCALS_MAX; i++) {
		number[11] = i;
		while (replace(form, number, (char[]){ '$', i, '\0' }) ||
		       replace(form, number + 1, (char[]){ '$', i, '\0' }))
			;
	}
	for (i = '1'; i <= '9'; i++) {
		argument[15] = i;
		plain[6] = i;
		while (replace(form, argument, plain))
			;
	}
}

/**
 * form_of() - the form of a script
 * @text:	the script
 * @form:	returned: the form, FORM_SIZE bytes
 *
 * Return: false if it is longer, or has what no known script has.
 */
bool form_of(const struct word *text, char *form)
{
	struct form state = { .at = text->at, .end = text->at + text->len, .to = form };

	*form = '\0';
	next(&state);
	while (state.token.len && !state.is_bad) {
		if (is(&state.token, "local")) {
			put_local(&state);
		} else {
			put_token(&state);
			next(&state);
		}
	}
	if (state.is_bad)
		return false;
	unify(form);
	return true;
}
