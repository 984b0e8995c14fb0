// SPDX-License-Identifier: GPL-2.0-only
/*
 * The words that the scripts for completion in bash, zsh and fish offer for an argument.
 *
 * Any user gives a belt any name, as $(COMMAND). No shell may expand a word that it has from
 * outside: not when it reads the word, and not when the word stands on the command line. zsh and
 * fish quote what they are offered, and so does readline for names of files. For all other words
 * bash has functions of ours: compgen -W expands its words, and readline inserts the words of
 * COMPREPLY as they are.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "array_size.h"
#include "offer.h"

/* The command that prints the names of belts, as they are. */
#define PRINT_BELTS	"hbctl completion belts"

/*
 * The functions of a script for bash; %1$s is the name of the program.
 *
 * COMP_WORDS has a name with a colon as three words, and the quotes of the line. So the line is
 * read anew.
 */
static const char bash_functions[] =
	"# Reads the line up to the cursor. Sets words to its words without their quotes, up to the one that is\n"
	"# typed, typed to that one, quote to the quote in which it is, and head to what readline leaves of it\n"
	"# on the line: readline replaces $1. previous is the option whose argument is typed, before the part\n"
	"# of typed up to the argument, and dashed is set behind a --.\n"
	"_%1$s_read()\n"
	"{\n"
	"\tlocal line=${COMP_LINE:0:COMP_POINT} start char i word present=\n"
	"\n"
	"\tCOMPREPLY=() words=() typed= head= quote= before= dashed=\n"
	"\tstart=$((${#line} - ${#1}))\n"
	"\tfor ((i = 0; i <= ${#line}; i++)); do\n"
	"\t\t((i != start)) || head=$typed\n"
	"\t\tchar=${line:i:1}\n"
	"\t\tcase $quote,$char in\n"
	"\t\t\\',\\' | \\\",\\\") quote= ;;\n"
	"\t\t,[\\'\\\"]) quote=$char present=yes ;;\n"
	"\t\t,\\\\ | \\\",\\\\)\n"
	"\t\t\t((++i != start)) || head=$typed\n"
	"\t\t\t[[ ! $quote || ${line:i:1} == [\\$\\`\\\"\\\\] ]] || typed+=\\\\\n"
	"\t\t\ttyped+=${line:i:1} ;;\n"
	"\t\t,[[:blank:]\\;\\|\\&\\(\\)\\<\\>])\n"
	"\t\t\t[[ ! $typed$present ]] || words+=(\"$typed\")\n"
	"\t\t\ttyped= present= ;;\n"
	"\t\t*) typed+=$char ;;\n"
	"\t\tesac\n"
	"\tdone\n"
	"\tprevious=${words[${#words[@]} - 1]}\n"
	"\tcase $typed in\n"
	"\t--*=*) previous=${typed%%%%=*} before=$previous= ;;\n"
	"\tesac\n"
	"\tfor word in \"${words[@]}\"; do\n"
	"\t\t[[ $word != -- ]] || dashed=yes previous=\n"
	"\tdone\n"
	"}\n"
	"# Offers those of the words that begin with what is typed, quoted as the line demands it.\n"
	"_%1$s_offer()\n"
	"{\n"
	"\tlocal word rest char i\n"
	"\n"
	"\tfor word; do\n"
	"\t\tword=$before$word\n"
	"\t\t[[ $word == \"$typed\"* ]] || continue\n"
	"\t\trest=${word:${#head}} word=\n"
	"\t\tfor ((i = 0; i < ${#rest}; i++)); do\n"
	"\t\t\tchar=${rest:i:1}\n"
	"\t\t\tcase $quote,$char in\n"
	"\t\t\t\\',\\') word+=\"'\\\\''\" ;;\n"
	"\t\t\t\\\",!) word+='\"\\!\"' ;;\n"
	"\t\t\t\\\",[\\$\\`\\\"\\\\]) word+=\\\\$char ;;\n"
	"\t\t\t,[[:alnum:]_./:=@%%+,^-]) word+=$char ;;\n"
	"\t\t\t,[[:ascii:]]) word+=\\\\$char ;;\n"
	"\t\t\t*) word+=$char ;;\n"
	"\t\t\tesac\n"
	"\t\tdone\n"
	"\t\t# Readline takes a quote at either end of it for the quotes of the word.\n"
	"\t\t[[ ! $quote || $word != \"$quote\"* ]] || word=$quote$word\n"
	"\t\t[[ ! $quote || $word != *\"$quote\" ]] || word+=$quote\n"
	"\t\tCOMPREPLY+=(\"$word\")\n"
	"\tdone\n"
	"}\n"
	"# Offers the lines that a command prints.\n"
	"_%1$s_offer_lines()\n"
	"{\n"
	"\tlocal -a lines\n"
	"\n"
	"\tmapfile -t lines < <(\"$@\" 2>/dev/null)\n"
	"\t_%1$s_offer \"${lines[@]}\"\n"
	"}\n";

static const char fish_functions[] =
	"# Prints the belts. fish quotes a name, but not a ~ in front, unless a quote or a backslash is typed.\n"
	"function __%1$s_belts\n"
	"\tset -l typed (commandline -ct)\n"
	"\tif string match -q -r '^[\"\\'\\\\\\\\]' -- \"$typed\"\n"
	"\t\t" PRINT_BELTS " 2>/dev/null\n"
	"\telse\n"
	"\t\t" PRINT_BELTS " 2>/dev/null | string match -v -- '~*'\n"
	"\tend\n"
	"end\n";

static const char zsh_functions[] =
	"# Offers the belts.\n"
	"_%1$s_belts() {\n"
	"\tlocal -a belts=(${(f)\"$(" PRINT_BELTS " 2>/dev/null)\"})\n"
	"\tcompadd -- $belts\n"
	"}\n";

/* The code that offers what an argument with this word in its name may be. */
static const struct offer {
	const char *argument;
	const char *code[OFFER_SHELLS];
} offers[] = {
#define FILES	{ "compopt -o default", " -F", "_files" }
	{ "FILE", FILES },
	{ "DEVICE", FILES },
	{ "PROGRAM", FILES },
	{ "DIRECTORY", FILES },
	{ "BELT", { "_%s_offer_lines " PRINT_BELTS, " -f -a '(__%s_belts)'", "_%s_belts" } },
	{ "USER", { "_%s_offer_lines compgen -u", " -f -a '(__fish_complete_users)'", "_users" } },
	{ "GROUP", { "_%s_offer_lines compgen -g", " -f -a '(__fish_complete_groups)'",
		     "_groups" } },
};

/**
 * offer_find_shell() - find a shell by its name
 * @name:	the name
 * @shell:	returned
 *
 * Return: whether there are scripts for it.
 */
bool offer_find_shell(const char *name, enum offer_shell *shell)
{
	static const char * const names[OFFER_SHELLS] = {
		[OFFER_BASH] = "bash", [OFFER_FISH] = "fish", [OFFER_ZSH] = "zsh",
	};
	int i;

	for (i = 0; i < OFFER_SHELLS; i++) {
		if (!strcmp(names[i], name)) {
			*shell = i;
			return true;
		}
	}
	return false;
}

/* Prints code with the name of the program in the place of %s, if there is one. */
static void print_code(const char *code, const char *program)
{
	const char *name = strstr(code, "%s");

	if (name)
		printf("%.*s%s%s", (int)(name - code), code, program, name + strlen("%s"));
	else
		fputs(code, stdout);
}

/**
 * offer_print_functions() - print the functions that the code of offer_print() calls
 * @shell:	the shell
 * @program:	the name of the program; those of the functions have it
 */
void offer_print_functions(enum offer_shell shell, const char *program)
{
	switch (shell) {
	case OFFER_BASH:
		printf(bash_functions, program);
		break;
	case OFFER_FISH:
		printf(fish_functions, program);
		break;
	default:
		printf(zsh_functions, program);
	}
}

/* The first word in lower case of those that are separated by '|' or in brackets; NULL: none. */
static const char *find_word(const char *words, size_t *len)
{
	for (; *words; words += *len + !!words[*len]) {
		*len = strcspn(words, "|[]");
		if (islower((unsigned char)*words))
			return words;
	}
	return NULL;
}

/**
 * offer_print_words() - print the words that an argument may be, with a space before each
 * @words:	separated by '|' or in brackets; only those in lower case are offered
 */
void offer_print_words(const char *words)
{
	size_t len;

	for (; (words = find_word(words, &len)); words += len)
		printf(" %.*s", (int)len, words);
}

/**
 * offer_print() - print the code that offers what an argument may be
 * @shell:	the shell
 * @program:	the name of the program
 * @argument:	the name of the argument, or words
 */
void offer_print(enum offer_shell shell, const char *program, const char *argument)
{
	size_t i, len;

	for (i = 0; i < ARRAY_SIZE(offers); i++) {
		if (strstr(argument, offers[i].argument)) {
			print_code(offers[i].code[shell], program);
			return;
		}
	}
	if (!find_word(argument, &len)) {
		fputs(shell == OFFER_FISH ? " -f" : shell == OFFER_BASH ? ":" : "", stdout);
		return;
	}
	switch (shell) {
	case OFFER_BASH:
		printf("_%s_offer", program);
		offer_print_words(argument);
		break;
	case OFFER_FISH:
		fputs(" -f -a '", stdout);
		offer_print_words(argument);
		putchar('\'');
		break;
	default:
		putchar('(');
		offer_print_words(argument);
		putchar(')');
	}
}
