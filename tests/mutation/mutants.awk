# SPDX-License-Identifier: GPL-2.0-only
#
# mutants.awk - list the mutants of the module's sources: edits of one token or of one statement,
# each of which should make a test fail.
#
#	awk -f mutants.awk FILE...		list them
#	awk -v plant=ID -f mutants.awk FILE	print FILE with mutant ID planted
#
# A line has, between tabs: ID, FILE, LINE, OPERATOR, BEFORE, AFTER. BEFORE and AFTER are the edited
# lines of the source, in one line. An ID is FILE/FUNCTION/OPERATOR.N, so that it stays the same when
# other functions change. The operators:
#
#	relational	another comparison: < and <=, > and >=, == and !=
#	logical		&& for ||, || for &&, or a ! deleted
#	arithmetic	+ for -, << for >>, ++ for --, & for |, and vice versa
#	constant	a number, or a name with _MAX or _MIN, changed by one
#	delete		a statement deleted
#	swap		two neighbouring arguments of a call swapped
#	rcu		a list function for RCU replaced by the plain one
#	barrier		a barrier or a grace period deleted, or an access weakened
#	gfp		another context for an allocation, or a flag of it deleted
#
# Only bodies of functions are edited. Comments, strings, lines of the preprocessor, assertions, trace
# points and messages are not edited: no test can observe an edit there.

BEGIN {
	FS = OFS = "\t"
	relational["<"] = "<="; relational["<="] = "<"
	relational[">"] = ">="; relational[">="] = ">"
	relational["=="] = "!="; relational["!="] = "=="
	logical["&&"] = "||"; logical["||"] = "&&"
	arithmetic["+"] = "-"; arithmetic["-"] = "+"
	arithmetic["<<"] = ">>"; arithmetic[">>"] = "<<"
	arithmetic["++"] = "--"; arithmetic["--"] = "++"
	arithmetic["+="] = "-="; arithmetic["-="] = "+="
	arithmetic["&"] = "|"; arithmetic["|"] = "&"
	arithmetic["|="] = "&="; arithmetic["&="] = "|="
	gfp["GFP_KERNEL"] = "GFP_ATOMIC"
	gfp["GFP_KERNEL_ACCOUNT"] = "GFP_KERNEL"
	gfp["GFP_NOWAIT"] = "GFP_KERNEL"
	gfp["HB_BUFFER_GFP"] = "GFP_KERNEL"
	gfp["SLAB_ACCOUNT"] = "0"
	gfp["SLAB_TYPESAFE_BY_RCU"] = "0"
	weaker["smp_store_release"] = "WRITE_ONCE"
	weaker["smp_load_acquire"] = "READ_ONCE"
	weaker["rcu_assign_pointer"] = "RCU_INIT_POINTER"
	set(keywords, "if for while switch do else return break continue goto case default sizeof")
	set(types, "struct enum union const static unsigned signed int bool char void long short " \
	    "u8 u16 u32 u64 s8 s16 s32 s64 size_t ssize_t gfp_t loff_t ulong uint ushort " \
	    "umode_t kuid_t kgid_t __poll_t ktime_t pid_t")
	# The order of their arguments has no effect, or they are not functions.
	set(symmetric, "max min max_t min_t max3 min3 swap memcmp clamp_t container_of offsetof " \
	    "rb_entry list_entry list_first_entry hlist_entry typeof READ_ONCE WRITE_ONCE " \
	    "uid_eq gid_eq ns_capable_noaudit")
	operators = "<<=|>>=|[.][.][.]|->|[+][+]|--|<<|>>|<=|>=|==|!=|&&|[|][|]|[-+*/%&|^]="
}

function set(array, words,   list, i) {
	for (i = split(words, list, " "); i > 0; i--)
		array[list[i]] = 1
}

FNR == 1 {
	finish_file()
	file = FILENAME
	if (match(file, /\/(belt\/[a-z]+|belt|device)\/[^\/]*$/))
		file = substr(file, RSTART + 1)
	else
		sub(/.*\//, "", file)
	path = FILENAME
}

{
	raw[FNR] = $0
	lines = FNR
}

END { finish_file() }

function finish_file() {
	if (!lines)
		return
	reset()
	tokenize()
	pair()
	find_functions()
	skip_assertions()
	mutate()
	if (plant != "")
		print_planted()
	lines = 0
}

function reset() {
	split("", token)
	split("", at_line)
	split("", at_column)
	split("", partner)
	split("", in_function)
	split("", skipped)
	split("", numbers)
	tokens = 0
	planted_first = 0
}

# Tokens

# mask LINE - its text with blanks for comments and the preprocessor, and "s" for quoted text.
function mask(text,   kept, c, two, i, quote) {
	if (directive || (!in_comment && text ~ /^[ \t]*#/)) {
		directive = text ~ /\\$/
		return ""
	}
	kept = ""
	quote = ""
	for (i = 1; i <= length(text); i++) {
		c = substr(text, i, 1)
		two = substr(text, i, 2)
		if (in_comment) {
			if (two == "*/") {
				in_comment = 0
				kept = kept " "
				i++
			}
			kept = kept " "
		} else if (quote != "") {
			if (c == "\\") {
				kept = kept "s"
				i++
			} else if (c == quote) {
				quote = ""
			}
			kept = kept "s"
		} else if (two == "/*") {
			in_comment = 1
			kept = kept "  "
			i++
		} else if (two == "//") {
			break
		} else if (c == "\"" || c == "'") {
			quote = c
			kept = kept "s"
		} else {
			kept = kept c
		}
	}
	return kept
}

function add_token(text, line, column) {
	tokens++
	token[tokens] = text
	at_line[tokens] = line
	at_column[tokens] = column
}

function tokenize(   n, text, column, size) {
	in_comment = directive = 0
	for (n = 1; n <= lines; n++) {
		text = mask(raw[n])
		column = 1
		while (text != "") {
			if (match(text, /^[ \t]+/)) {
				size = RLENGTH
			} else {
				if (match(text, /^[A-Za-z_0-9]+/) ||
				    match(text, "^(" operators ")"))
					size = RLENGTH
				else
					size = 1
				add_token(substr(text, 1, size), n, column)
			}
			text = substr(text, size + 1)
			column += size
		}
	}
}

# pair - find the matching bracket of each bracket.
function pair(   k, depth, stack) {
	depth = 0
	for (k = 1; k <= tokens; k++) {
		if (token[k] ~ /^[({[]$/) {
			stack[++depth] = k
		} else if (token[k] ~ /^[])}]$/ && depth) {
			partner[k] = stack[depth]
			partner[stack[depth--]] = k
		}
	}
}

function is_word(text) {
	return text ~ /^[A-Za-z_]/
}

# find_functions - sets in_function[k] to the name of the function whose body has token k.
function find_functions(   k, name, end) {
	name = ""
	for (k = 1; k <= tokens; k++) {
		if (token[k] == "(") {
			if (is_word(token[k - 1]) && token[k - 1] !~ /^__/)
				name = token[k - 1]
			k = partner[k]
		} else if (token[k] == "{") {
			end = partner[k]
			if (token[k - 1] == ")" && name != "")
				for (; k < end; k++)
					in_function[k] = name
			k = end
			name = ""
		} else if (token[k] == ";" || token[k] == "=") {
			name = ""
		}
		if (!k)
			break
	}
}

# skip_assertions - skip assertions, and other calls in which no edit can make a test fail.
function skip_assertions(   k, i) {
	for (k = 1; k < tokens; k++)
		if (token[k + 1] == "(" &&
		    token[k] ~ /^(lockdep_|WARN|BUG|BUILD_BUG|might_|trace_|pr_|static_assert|_Static|module_|MODULE_|sizeof|__attribute|instrument_|kmemleak_)|_assert_held$/)
			for (i = k; i <= partner[k + 1]; i++)
				skipped[i] = 1
}

# Mutants

# text_of FIRST LAST - the source text from one token to another.
function text_of(first, last) {
	return cut(at_line[first], at_column[first], at_line[last],
		   at_column[last] + length(token[last]) - 1)
}

function cut(line, column, last_line, last_column,   text, n) {
	if (line == last_line)
		return substr(raw[line], column, last_column - column + 1)
	text = substr(raw[line], column)
	for (n = line + 1; n < last_line; n++)
		text = text "\n" raw[n]
	return text "\n" substr(raw[last_line], 1, last_column)
}

function squeezed(text) {
	gsub(/[ \t\n]+/, " ", text)
	sub(/^ /, "", text)
	sub(/ $/, "", text)
	return text
}

# whole FIRST LAST AFTER - the lines of the tokens, with AFTER in the place of the tokens.
function whole(first, last, after) {
	return substr(raw[at_line[first]], 1, at_column[first] - 1) after \
		substr(raw[at_line[last]], at_column[last] + length(token[last]))
}

# mutant OPERATOR FIRST LAST AFTER - a mutant with AFTER in the place of the tokens FIRST to LAST.
function mutant(operator, first, last, after,   id, number, short) {
	short = file
	sub(/^hashbelt_|^.*\//, "", short)
	number = ++numbers[in_function[first] "/" operator]
	id = short "/" in_function[first] "/" operator "." number
	if (plant == id) {
		planted_first = first
		planted_last = last
		planted_text = after
	}
	if (plant == "")
		print id, file, at_line[first], operator,
			squeezed(whole(first, last, text_of(first, last))),
			squeezed(whole(first, last, after))
}

function print_planted(   n, text) {
	if (!planted_first) {
		print "mutants.awk: " path " has no mutant " plant > "/dev/stderr"
		exit 1
	}
	for (n = 1; n <= lines; n++) {
		if (n == at_line[planted_first]) {
			print whole(planted_first, planted_last, planted_text)
			n = at_line[planted_last]
		} else {
			print raw[n]
		}
	}
}

function mutate(   k) {
	for (k = 2; k < tokens; k++) {
		if (!(k in in_function) || k in skipped)
			continue
		note_type(k)
		mutate_token(k)
		if (is_start(k))
			mutate_statement(k)
		if (token[k] == "(" && is_word(token[k - 1]) && !(k - 1 in skipped))
			mutate_arguments(k)
	}
}

# is_operand K - true if an operator after this token has two operands.
function is_operand(k) {
	return (token[k] ~ /^[A-Za-z_0-9]/ && !(token[k] in keywords)) || token[k] ~ /^[])]$/
}

function mutate_token(k,   t) {
	t = token[k]
	if (t in relational)
		mutant("relational", k, k, relational[t])
	else if (t in logical)
		mutant("logical", k, k, logical[t])
	else if (t == "!")
		mutant("logical", k, k, "")
	else if (t in arithmetic && is_binary(k))
		mutant("arithmetic", k, k, arithmetic[t])
	else if (t ~ /^[0-9]/)
		mutate_number(k)
	else if (t ~ /_(MAX|MIN)$/ && t !~ /^[SU](8|16|32|64)_/ && token[k + 1] != "(")
		mutant("constant", k, k, "(" t " - 1)")
	else if (t in gfp)
		mutant("gfp", k, k, gfp[t])
	else if (t ~ /^__GFP_/)
		mutant("gfp", k, k, "0")
	else if (token[k + 1] == "(")
		mutate_name(k)
}

# is_binary K - true for an operator with two operands. A cast before an "&" is found by its type.
function is_binary(k) {
	if (token[k] == "++" || token[k] == "--" || token[k] ~ /=$/)
		return 1
	if (token[k] == "&" && token[k - 1] == ")" && token[partner[k - 1] + 1] in types)
		return 0
	return is_operand(k - 1)
}

function mutate_number(k,   digits, suffix) {
	if (token[k] !~ /^[0-9]+[UL]*$/)
		return
	digits = suffix = token[k]
	sub(/[UL]+$/, "", digits)
	sub(/^[0-9]+/, "", suffix)
	# An octal number stays an octal number.
	mutant("constant", k, k, (digits ~ /^0./ ? "0" : "") (digits + 1) suffix)
}

function mutate_name(k,   t, after) {
	t = token[k]
	if (t in weaker) {
		mutant("barrier", k, k, weaker[t])
	} else if (t ~ /^atomic.*(_acquire|_release)$/ || t ~ /^(xchg|cmpxchg|try_cmpxchg)$/ ||
		   t ~ /^atomic.*(xchg|_return|_fetch)$/) {
		after = t
		sub(/_(acquire|release)$/, "", after)
		mutant("barrier", k, k, after "_relaxed")
	} else if (t ~ /^h?list_.*_rcu$/) {
		after = t
		sub(/_rcu$/, "", after)
		mutant("rcu", k, k, after)
	} else if (t ~ /^rcu_dereference/) {
		if (t !~ /_protected$/)
			mutant("rcu", k, k, "")
	}
}

# Statements

function is_start(k,   p) {
	p = token[k - 1]
	if (!(is_word(token[k]) || token[k] == "*" || token[k] == "++" || token[k] == "--"))
		return 0
	if (token[k] ~ /^(if|for|while|switch|do|else|case|default|DEFINE_|LIST_HEAD)/)
		return 0
	if (p == ";")
		return !in_brackets(k)
	if (p == "{" || p == "}" || p == "else" || p == "do")
		return 1
	if (p == ":")
		return is_label(k - 1)
	return p == ")" && is_body(k)
}

# in_brackets K - true in the second and third part of for (;;).
function in_brackets(k,   i, depth) {
	for (i = k - 1; i > 0 && token[i] != "{" && token[i] != "}"; i--) {
		if (token[i] == ")")
			i = partner[i]
		else if (token[i] == "(")
			return 1
	}
	return 0
}

# is_label K - true for a colon that is not part of a conditional expression.
function is_label(k,   i) {
	for (i = k - 1; token[i] !~ /^[;{}]$/; i--)
		if (token[i] == "?")
			return 0
	return 1
}

# is_body K - true for the body of an if or a loop without braces.
function is_body(k,   before) {
	before = token[partner[k - 1] - 1]
	return before ~ /^(if|for|while)$/ || before ~ /for_each/
}

function is_declaration(k) {
	return token[k] in types ||
		(is_word(token[k]) && !(token[k] in keywords) && is_word(token[k + 1]))
}

function mutate_statement(k,   i, t) {
	t = token[k]
	if (is_declaration(k) || (t == "return" && token[k - 1] != ")"))
		return
	# Without it a loop would not end, or a label would be missing.
	if (token[k + 1] == ":")
		return
	for (i = k; i <= tokens && token[i] != ";"; i++)
		if (token[i] ~ /^[({[]$/)
			i = partner[i]
	if (t ~ /^smp_.*mb$/ || t ~ /^(synchronize_rcu|rcu_barrier|synchronize_)/)
		mutant("barrier", k, i, ";")
	else
		mutant("delete", k, i, ";")
}

# Arguments

# note_type K - record the type of a name that is declared here, as far as that is easily seen.
function note_type(k) {
	if (at_function != in_function[k]) {
		at_function = in_function[k]
		split("", type)
		note_parameters(k)
	}
	note_name(k)
}

function note_name(k) {
	if (!is_word(token[k]))
		return
	if (token[k - 1] == "*" && is_word(token[k - 2]) &&
	    (token[k - 3] == "struct" || token[k - 2] in types || token[k - 2] == "__user"))
		type[token[k]] = token[k - 2] "*"
	else if (token[k - 1] in types && !(token[k] in types))
		type[token[k]] = "number"
	else if (token[k - 2] == "enum")
		type[token[k]] = "number"
}

function note_parameters(k,   i) {
	for (i = k; token[i] != "{"; i--)
		;
	for (; i > 1 && token[i] != "("; i--)
		;
	for (; token[i] != "{"; i++)
		note_name(i)
}

# kind FIRST LAST - the type of an argument if it is a name, "?" if the type is unknown.
function kind(first, last) {
	if (first == last) {
		if (token[first] in type)
			return type[token[first]]
		if (token[first] ~ /^[0-9]/ || token[first] ~ /^[A-Z][A-Z_0-9]+$/)
			return token[first] == "NULL" ? "NULL" : "number"
	}
	if (token[first] == "sizeof")
		return "number"
	if (token[first] == "&")
		return "&"
	return "?"
}

# True if a compiler might accept one type for the other.
function is_alike(a, b) {
	if (a == "NULL" || b == "NULL" || a == "&" || b == "&")
		return 0
	if (a == "?" && b == "?")
		return 1
	if (a == "?" || b == "?")
		return a !~ /\*$/ && b !~ /\*$/
	return a == b || a == "void*" && b ~ /\*$/ || b == "void*" && a ~ /\*$/
}

function mutate_arguments(k,   i, first, count, from, to, name) {
	name = token[k - 1]
	if (name in keywords || name in symmetric || is_declaration(k - 2) || name ~ /for_each/)
		return
	count = 0
	first = k + 1
	for (i = k + 1; i <= partner[k]; i++) {
		if (token[i] == "," || i == partner[k]) {
			count++
			from[count] = first
			to[count] = i - 1
			first = i + 1
		} else if (token[i] ~ /^[({[]$/) {
			i = partner[i]
		}
	}
	for (i = 1; i < count; i++)
		if (is_alike(kind(from[i], to[i]), kind(from[i + 1], to[i + 1])) &&
		    text_of(from[i], to[i]) != text_of(from[i + 1], to[i + 1]))
			mutant("swap", from[i], to[i + 1],
			       text_of(from[i + 1], to[i + 1]) ", " text_of(from[i], to[i]))
}
