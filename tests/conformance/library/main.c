// SPDX-License-Identifier: GPL-2.0-only
/*
 * conformance FILE - run the cases of a file with libhashbelt, and print the results as TAP.
 *
 * tests/conformance/cases.py describes the file. Each case gets a belt of its own, whose time
 * stands still.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "runner.h"

static const struct operation * const tables[] = {
	belt_operations, entry_operations, many_operations, lease_operations, event_operations,
};

static const struct operation *find(const char *name)
{
	const struct operation *row;
	size_t i;

	for (i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		for (row = tables[i]; row->name; row++)
			if (!strcmp(row->name, name))
				return row;
	return NULL;
}

/* Saves results in variables. */
static bool save(struct step *step, char *wrong, size_t size)
{
	struct json_object *names = NULL, *value;

	if (!json_object_object_get_ex(step->members, "save", &names))
		return true;
	json_object_object_foreach(names, variable, name) {
		if (!json_object_object_get_ex(step->found, json_object_get_string(name), &value)) {
			snprintf(wrong, size, "expected a result %s, found %.200s",
				 json_object_get_string(name),
				 json_object_to_json_string(step->found));
			return false;
		}
		json_object_object_add(step->run->variables, variable, json_object_get(value));
	}
	return true;
}

static const char *error_word(int err)
{
	return err ? strerrorname_np(-err) : "no error";
}

/* Compares the error and the results of a step with those that the case expects. */
static bool check(struct step *step, int err, char *wrong, size_t size)
{
	struct json_object *error = NULL, *returns = NULL;
	const char *wanted = error_word(0);

	if (json_object_object_get_ex(step->members, "error", &error))
		wanted = json_object_get_string(error);
	if (strcmp(wanted, error_word(err))) {
		snprintf(wrong, size, "expected %s, found %s", wanted, error_word(err));
		return false;
	}
	if (json_object_object_get_ex(step->members, "returns", &returns) &&
	    !compare(step->run, returns, step->found, wrong, size))
		return false;
	return save(step, wrong, size);
}

/* Carries out a step. Return: whether it did what the case says. */
static bool carry_out(struct run *run, struct json_object *members, char *wrong, size_t size)
{
	struct step step = { .run = run, .members = members };
	const struct operation *operation;
	struct json_object *name;
	bool passed;

	name = argument(&step, "as");
	step.handle = handle_find(run, name ? json_object_get_string(name) : "main");
	operation = find(json_object_get_string(argument(&step, "do")));
	if (!operation) {
		snprintf(wrong, size, "there is no such operation");
		return false;
	}
	step.found = json_object_new_object();
	passed = check(&step, operation->run(&step), wrong, size);
	json_object_put(step.found);
	return passed;
}

/* Runs the steps of a case. Return: whether the case holds. */
static bool run_steps(struct run *run, struct json_object *steps, char *wrong, size_t size)
{
	struct json_object *step;
	char what[512];
	size_t i;

	for (i = 0; i < json_object_array_length(steps); i++) {
		step = json_object_array_get_idx(steps, i);
		if (carry_out(run, step, what, sizeof(what)))
			continue;
		snprintf(wrong, size, "step %zu, %s: %s", i + 1,
			 json_object_get_string(json_object_object_get(step, "do")), what);
		return false;
	}
	return true;
}

static void destroy(void)
{
	struct hashbelt *belt;

	if (hashbelt_open(NULL, &belt))
		return;
	hashbelt_destroy(belt, BELT);
	hashbelt_close(belt);
}

/* Runs a case on a belt of its own. Return: whether it holds. */
static bool run_case(struct json_object *members, char *wrong, size_t size)
{
	struct run run = {
		.variables = json_object_new_object(),
		.tokens = json_object_new_object(),
	};
	struct handle *handle;
	bool passed = false;
	int err;

	json_object_object_get_ex(members, "belt", &run.settings);
	err = belt_create(run.settings);
	if (!err)
		err = handle_open(&run, "main", 0, &handle);
	if (!err)
		err = hashbelt_halt(handle->belt);
	if (err)
		snprintf(wrong, size, "the belt cannot be made: %s", strerror(-err));
	else
		passed = run_steps(&run, json_object_object_get(members, "steps"), wrong, size);
	handles_close(&run);
	destroy();
	json_object_put(run.variables);
	json_object_put(run.tokens);
	return passed;
}

int main(int argc, char **argv)
{
	struct json_object *file, *cases, *each;
	size_t count, failed = 0, i;
	char wrong[1024];
	bool holds;

	file = argc == 2 ? json_object_from_file(argv[1]) : NULL;
	if (!file) {
		fprintf(stderr, "conformance: usage: conformance FILE\n");
		return 2;
	}
	file = cases_expand(file);
	cases = json_object_object_get(file, "cases");
	count = json_object_array_length(cases);
	printf("1..%zu\n", count);
	for (i = 0; i < count; i++) {
		each = json_object_array_get_idx(cases, i);
		holds = run_case(each, wrong, sizeof(wrong));
		failed += !holds;
		printf("%s %zu - %s\n", holds ? "ok" : "not ok", i + 1,
		       json_object_get_string(json_object_object_get(each, "name")));
		if (!holds)
			printf("# %s\n", wrong);
		fflush(stdout);
	}
	json_object_put(file);
	return !!failed;
}
