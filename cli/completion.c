/* pelt completion: completion scripts for bash and zsh, generated from the tables of verbs and options. */
#include "cli.h"

#include <string.h>

static bool takes_file(const pelt_option *option) {
    return option->value && strcmp(option->value, "FILE") == 0;
}

/* Prints "a|b" as "a b". */
static void print_choices(const char *choices) {
    for (; *choices; choices++)
        putchar(*choices == '|' ? ' ' : *choices);
}

/* Whether the positional arguments of a verb are names of verbs, not files. */
static bool takes_verbs(const cli_verb *verb) {
    return verb == &verb_help || verb == &verb_man;
}

static void print_verb_names(void) {
    for (size_t v = 0; verb_at(v); v++)
        printf("%s%s", v ? " " : "", verb_at(v)->name);
}

/* ---- bash ------------------------------------------------------------------------------------------------- */

static void bash_flag(const cli_verb *verb, const char *title, const pelt_option *option, void *user) {
    (void)verb, (void)title, (void)user;
    printf(" --%s", option->name);
    if (option->letter)
        printf(" -%c", option->letter);
}

static void bash_value(const cli_verb *verb, const char *title, const pelt_option *option, void *user) {
    (void)title, (void)user;
    if (option->kind == PELT_OPTION_FLAG || takes_file(option))
        return;
    printf("        %s:--%s", verb->name, option->name);
    if (option->letter)
        printf("|%s:-%c", verb->name, option->letter);
    printf(") words='");
    if (option->kind == PELT_OPTION_CHOICE)
        print_choices(option->choices);
    printf("'; plain=1 ;;\n");
}

static void print_bash(void) {
    puts("# bash completion for pelt\n_pelt() {\n"
         "    local verb= word words= plain= here=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
         "    for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
         "        [[ $word != -* ]] && { verb=$word; break; }\n"
         "    done\n"
         "    case $verb:$before in");
    for (size_t v = 0; verb_at(v); v++)
        each_option(verb_at(v), bash_value, NULL);
    puts("    esac\n    if [[ -z $plain ]]; then\n        case $verb:$here in");
    printf("        :-*) words='--help --version'; plain=1 ;;\n        :*) words='");
    print_verb_names();
    printf("'; plain=1 ;;\n");
    for (size_t v = 0; verb_at(v); v++) {
        printf("        %s:-*) words='", verb_at(v)->name);
        each_option(verb_at(v), bash_flag, NULL);
        printf("'; plain=1 ;;\n");
        if (takes_verbs(verb_at(v))) {
            printf("        %s:*) words='", verb_at(v)->name);
            print_verb_names();
            printf("'; plain=1 ;;\n");
        }
    }
    puts("        completion:*) words='bash zsh'; plain=1 ;;\n        esac\n    fi\n"
         "    if [[ -n $plain ]]; then\n"
         "        COMPREPLY=($(compgen -W \"$words\" -- \"$here\"))\n"
         "    else\n"
         "        COMPREPLY=()\n"
         "        compopt -o default 2>/dev/null\n"
         "    fi\n}\ncomplete -F _pelt pelt");
}

/* ---- zsh -------------------------------------------------------------------------------------------------- */

/* Escapes text for a description in single quotes. */
static void print_zsh_text(const char *text) {
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", stdout);
        else {
            if (strchr("[]:\\", *text))
                putchar('\\');
            putchar(*text);
        }
    }
}

static void zsh_option(const cli_verb *verb, const char *title, const pelt_option *option, void *user) {
    (void)verb, (void)title, (void)user;
    fputs(" \\\n            ", stdout);
    bool flag = option->kind == PELT_OPTION_FLAG;
    if (option->letter)
        printf("'(-%c --%s)'{-%c%s,--%s%s}'[", option->letter, option->name, option->letter, flag ? "" : "+",
               option->name, flag ? "" : "=");
    else
        printf("'--%s%s[", option->name, flag ? "" : "=");
    print_zsh_text(option->help);
    putchar(']');
    if (!flag) {
        putchar(':');
        print_zsh_text(option->value ? option->value : "value");
        putchar(':');
        if (option->kind == PELT_OPTION_CHOICE) {
            putchar('(');
            print_choices(option->choices);
            putchar(')');
        } else if (takes_file(option))
            fputs("_files", stdout);
    }
    putchar('\'');
}

static void print_zsh_verb(const cli_verb *verb) {
    printf("    %s)\n        _arguments -s", verb->name);
    each_option(verb, zsh_option, NULL);
    fputs(" \\\n            '*:", stdout);
    if (verb == &verb_completion)
        fputs("shell:(bash zsh)'\n", stdout);
    else if (takes_verbs(verb)) {
        fputs("verb:(", stdout);
        print_verb_names();
        fputs(")'\n", stdout);
    } else
        fputs("file:_files'\n", stdout);
    puts("        ;;");
}

static void print_zsh(void) {
    puts("#compdef pelt\n_pelt() {\n    local -a verbs\n    verbs=(");
    for (size_t v = 0; verb_at(v); v++) {
        printf("        '%s:", verb_at(v)->name);
        print_zsh_text(verb_at(v)->summary);
        puts("'");
    }
    puts("    )\n    if (( CURRENT == 2 )); then\n        _describe verb verbs\n        return\n    fi\n"
         "    local verb=$words[2]\n    shift words\n    (( CURRENT-- ))\n    case $verb in");
    for (size_t v = 0; verb_at(v); v++)
        print_zsh_verb(verb_at(v));
    puts("    esac\n}\ncompdef _pelt pelt 2>/dev/null\n[[ $funcstack[1] == _pelt ]] && _pelt \"$@\"");
}

/* ---- The verb --------------------------------------------------------------------------------------------- */

static exit_code run(cli_session *session, const void *settings, const char *const *args, size_t arg_count) {
    (void)settings;
    if (arg_count == 1 && strcmp(args[0], "bash") == 0)
        print_bash();
    else if (arg_count == 1 && strcmp(args[0], "zsh") == 0)
        print_zsh();
    else
        return usage_error(session, "completion needs a shell: bash or zsh");
    return EXIT_DONE;
}

static const example examples[] = {
    {"source <(pelt completion bash)", "completion in this shell"},
};

const cli_verb verb_completion = {
    .name = "completion",
    .summary = "print a completion script for a shell",
    .usage = "pelt completion bash|zsh",
    .examples = examples,
    .example_count = COUNT(examples),
    .utility = true,
    .run = run,
};
