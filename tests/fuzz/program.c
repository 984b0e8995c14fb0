// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program.h"

bool program_faults;

static uint8_t pick_call(uint64_t *random)
{
	unsigned int total = 0, i, at;

	for (i = 0; i < call_count; i++)
		total += calls[i].weight;
	at = random_below(random, total);
	for (i = 0; at >= calls[i].weight; i++)
		at -= calls[i].weight;
	return i;
}

static uint8_t find_call(const char *name)
{
	unsigned int i;

	for (i = 0; i < call_count && strcmp(calls[i].name, name); i++)
		;
	return i;
}

/* Gives every third call a fault. Without --faults, draws no random number. */
static void choose_fault(struct step *step, uint64_t *random)
{
	if (program_faults)
		step->fail = random_below(random, 3) ? 0 : 1 + random_below(random, FAIL_MAX);
}

static void make_step(struct step *step, uint8_t call, uint64_t *random)
{
	*step = (struct step){
		.seed = random_next(random),
		.call = call,
		.slot = random_below(random, random_below(random, 4) ? 2 : SLOTS),
	};
	if (!random_below(random, 24))
		step->place = random_below(random, PLACES);
	if (!random_below(random, 10))
		step->meddle = random_below(random, 2) ? ARGUMENT :
							 random_below(random, MEDDLES);
	choose_fault(step, random);
}

/* Sequences of calls that chance would rarely find. JOIN is CREATE or OPEN. */
static const char * const recipes[] = {
	"open JOIN WATCH PUT EXPIRE read ACK",
	"open CREATE WATCH PUT EXPIRE read ACK",
	"open JOIN LOCK RENEW HOLDER LOCKS UNLOCK RELEASE",
	"open JOIN FILL GIVE_UP FILL FILL_PUT",
	"open JOIN FILL RENEW_FILL FAIL FILL REMOVE FILL PUT FILL_PUT",
	"open JOIN REQUEST CANCEL REQUEST WATCH COMPLETE read",
	"open JOIN PUT GET TOUCH SCAN REMOVE",
	"open JOIN PUT ADD SET ADVANCE GET ROTATE",
	"open JOIN HALT ADVANCE RESUME INFO STAT BUCKETS NEXT CLEAR",
	"open JOIN",
};

/* CREATE costs more than most calls, so JOIN is mostly OPEN. */
static uint8_t find_word(const char *word, uint64_t *random)
{
	if (!strcmp(word, "JOIN"))
		word = random_below(random, 3) ? "OPEN" : "CREATE";
	return find_call(word);
}

/* All steps of a recipe have one seed, and so the same keys. */
static void follow(struct program *program, const char *recipe, uint64_t *random)
{
	struct step step;
	char name[16];
	int used;

	make_step(&step, 0, random);
	for (; sscanf(recipe, "%15s %n", name, &used) == 1; recipe += used) {
		step.call = find_word(name, random);
		choose_fault(&step, random);
		program->steps[program->count++] = step;
		if (!recipe[used])
			break;
	}
}

/* A program begins with a recipe, which begins with a new belt or a shared one. */
void program_make(struct program *program, uint64_t *random)
{
	unsigned int count = 4 + random_below(random, STEPS_MAX - 3);

	program->count = 0;
	follow(program, recipes[random_below(random, ARRAY_SIZE(recipes))], random);
	while (program->count < count)
		make_step(&program->steps[program->count++], pick_call(random), random);
}

static void add_twist(struct step *step, uint64_t *random)
{
	const struct call *call = &calls[step->call];
	unsigned int fields = call_fields(call);
	struct twist *twist;

	if (!fields)
		return;
	if (step->twists < TWISTS_MAX)
		step->twists++;
	twist = &step->twist[step->twists - 1];
	twist->field = random_below(random, fields);
	twist->value = random_word(random);
}

static void change_step(struct step *step, uint64_t *random)
{
	choose_fault(step, random);
	switch (random_below(random, 8)) {
	case 0:
		step->slot = random_below(random, SLOTS);
		break;
	case 1:
		step->place = random_below(random, PLACES);
		break;
	case 2:
		step->meddle = random_below(random, MEDDLES);
		break;
	case 3:
	case 4:
		add_twist(step, random);
		break;
	case 5:
		step->twists = 0;
		break;
	default:
		step->seed = random_next(random);
	}
}

static void insert_step(struct program *program, unsigned int at, const struct step *step)
{
	if (program->count == STEPS_MAX)
		program->count--;
	memmove(&program->steps[at + 1], &program->steps[at],
		(program->count - at) * sizeof(*step));
	program->steps[at] = *step;
	program->count++;
}

static void remove_step(struct program *program, unsigned int at)
{
	if (program->count <= 2)
		return;
	program->count--;
	memmove(&program->steps[at], &program->steps[at + 1],
		(program->count - at) * sizeof(program->steps[0]));
}

/* Keeps the first @at steps, and appends those of the other program. */
static void join(struct program *program, const struct program *other, unsigned int at)
{
	unsigned int from;

	for (from = 0; at < STEPS_MAX && from < other->count; from++)
		program->steps[at++] = other->steps[from];
	program->count = at;
}

/* Changes a program in one to four places; @other: a program to append. */
void program_change(struct program *program, const struct program *other, uint64_t *random)
{
	unsigned int changes = 1 + random_below(random, 4), at;
	struct step step;

	while (changes--) {
		at = random_below(random, program->count);
		switch (random_below(random, 8)) {
		case 0:
			make_step(&step, pick_call(random), random);
			insert_step(program, at < STEPS_MAX - 1 ? at : 0, &step);
			break;
		case 1:
			remove_step(program, at);
			break;
		case 2:
			step = program->steps[at];
			insert_step(program, random_below(random, STEPS_MAX - 1) %
				    program->count, &step);
			break;
		case 3:
			join(program, other, at + 1);
			break;
		default:
			change_step(&program->steps[at], random);
		}
	}
}

static char *print_step(const struct step *step, char *text)
{
	const struct call *call = &calls[step->call];
	unsigned int i;

	text += sprintf(text, "%s %x %x %x %x", call->name, step->slot, step->seed,
			step->place, step->meddle);
	if (step->fail)
		text += sprintf(text, " fail=%x", step->fail);
	for (i = 0; i < step->twists; i++)
		text += sprintf(text, " %s=%llx", call_field(call, step->twist[i].field)->name,
				(unsigned long long)step->twist[i].value);
	return text + sprintf(text, ";");
}

/* Writes a program to @text, PROGRAM_TEXT bytes, without a newline; returns @text. */
char *program_print(const struct program *program, char *text)
{
	char *end = text;
	unsigned int i;

	for (i = 0; i < program->count; i++)
		end = print_step(&program->steps[i], end);
	return text;
}

static bool parse_twist(struct step *step, char *text)
{
	const struct call *call = &calls[step->call];
	char *value = strchr(text, '=');
	struct twist *twist;
	unsigned int i;

	if (!value)
		return false;
	*value++ = '\0';
	if (!strcmp(text, "fail")) {
		step->fail = strtoul(value, NULL, 16);
		return step->fail;
	}
	for (i = 0; i < call_fields(call); i++)
		if (!strcmp(call_field(call, i)->name, text))
			break;
	if (i == call_fields(call) || step->twists == TWISTS_MAX)
		return false;
	twist = &step->twist[step->twists++];
	twist->field = i;
	twist->value = strtoull(value, NULL, 16);
	return true;
}

static bool parse_step(struct step *step, char *text)
{
	unsigned int seed, slot, place, meddle;
	char *word, *left = NULL;
	char name[32];
	int used = 0;

	if (sscanf(text, "%31s %x %x %x %x%n", name, &slot, &seed, &place, &meddle, &used) < 5)
		return false;
	*step = (struct step){
		.call = find_call(name), .slot = slot, .seed = seed, .place = place,
		.meddle = meddle,
	};
	if (step->call == call_count || slot >= SLOTS || place >= PLACES || meddle >= MEDDLES)
		return false;
	for (word = strtok_r(text + used, " ", &left); word; word = strtok_r(NULL, " ", &left))
		if (!parse_twist(step, word))
			return false;
	return true;
}

/* Reads what program_print() has written; changes @text. */
bool program_parse(struct program *program, char *text)
{
	char *step, *left = NULL;

	program->count = 0;
	for (step = strtok_r(text, ";\n", &left); step; step = strtok_r(NULL, ";\n", &left))
		if (program->count == STEPS_MAX ||
		    !parse_step(&program->steps[program->count++], step))
			return false;
	return program->count;
}
