#include "command_documents.h"

#include <string_view>
#include <vector>

namespace sluice::app {
namespace {

std::vector<const CLI::App*> CommandsOf(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

bool TakesValue(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

std::vector<std::string> NamesOf(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

void AppendWord(std::string& words, std::string_view word) {
  if (!words.empty()) words += ' ';
  words += word;
}

// The words that may follow `path` ("rules apply"), those of them that take a value, and the same
// for each command in it.
void AppendCases(const CLI::App& app, const std::string& path, std::string& commands,
                 std::string& cases) {
  std::string words;
  std::string with_value;
  for (const CLI::App* command : CommandsOf(app)) AppendWord(words, command->get_name());
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : NamesOf(*option)) {
      AppendWord(words, name);
      if (TakesValue(*option)) AppendWord(with_value, name);
    }
  }
  cases += "    '" + path + "')\n      words='" + words + "'\n      with_value='" + with_value +
           "'\n      ;;\n";
  for (const CLI::App* command : CommandsOf(app)) {
    const std::string inner = path.empty() ? command->get_name() : path + ' ' + command->get_name();
    commands += " | '" + inner + "'";
    AppendCases(*command, inner, commands, cases);
  }
}

// Text of a manual page: a line that begins with a dot or a quote would be a request.
std::string Roff(std::string_view text) {
  std::string out;
  bool line_begins = true;
  for (const char c : text) {
    if (line_begins && (c == '.' || c == '\'')) out += "\\&";
    line_begins = c == '\n';
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  for (std::size_t at = 0; (at = out.find("…", at)) != std::string::npos;) {
    out.replace(at, std::string_view("…").size(), "...");
  }
  return out;
}

void AppendOption(const CLI::Option& option, std::string& page) {
  std::string names;
  for (const std::string& name : NamesOf(option)) {
    if (!names.empty()) names += ", ";
    names += "\\fB" + Roff(name) + "\\fR";
  }
  if (names.empty()) {
    names = "\\fI" + Roff(option.get_name(true)) + "\\fR";
  } else if (TakesValue(option)) {
    names += " \\fI" + Roff(option.get_type_name()) + "\\fR";
  }
  page += ".TP\n" + names + '\n' + Roff(option.get_description()) + '\n';
}

// The footer has notes, and an example as the last paragraph.
void AppendFooter(const std::string& footer, std::string& page) {
  if (footer.empty()) return;
  page += ".PP\n.nf\n" + Roff(footer) + "\n.fi\n";
}

void AppendCommand(const CLI::App& command, const std::string& name, std::string& page) {
  page += ".SS \"sluice " + Roff(name) + "\"\n" + Roff(command.get_description()) + ".\n";
  for (const CLI::Option* option : command.get_options()) {
    if (option != command.get_help_ptr()) AppendOption(*option, page);
  }
  AppendFooter(command.get_footer(), page);
  for (const CLI::App* inner : CommandsOf(command)) {
    AppendCommand(*inner, name + ' ' + inner->get_name(), page);
  }
}

}  // namespace

std::string BashCompletion(const CLI::App& app) {
  std::string commands;
  std::string cases;
  AppendCases(app, "", commands, cases);
  return R"(# Completion of sluice for bash, printed by: sluice completion bash
_sluice() {
  local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD - 1]}"
  local path='' word words with_value
  for word in "${COMP_WORDS[@]:1:COMP_CWORD - 1}"; do
    case "${path:+$path }$word" in
    )" + commands.substr(3) +
         R"() path="${path:+$path }$word" ;;
    esac
  done
  case "$path" in
)" + cases +
         R"(  esac
  COMPREPLY=()
  [[ " $with_value " != *" $previous "* ]] || return 0 # Bash completes the names of files.
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}
complete -o default -F _sluice sluice
)";
}

std::string ManualPage(const CLI::App& app) {
  std::string page = ".TH SLUICE 1 \"\" \"sluice " SLUICE_VERSION "\" \"User Commands\"\n";
  page += R"(.SH NAME
sluice \- distributed rate limiter
.SH SYNOPSIS
.B sluice
.RI [ COMMAND ]
.RI [ OPTION ]...
.SH DESCRIPTION
For every call of an API, sluice decides whether the call may pass now and, if not, when. It runs as a
server that speaks HTTP, the Redis protocol and gRPC. Limits are in memory, or shared through Redis.
Without a command it runs the server, as
.B sluice serve
does.
.SH OPTIONS
)";
  for (const CLI::Option* option : app.get_options()) AppendOption(*option, page);
  page += ".SH COMMANDS\nEvery command has the option \\fB\\-\\-help\\fR.\n";
  for (const CLI::App* command : CommandsOf(app)) {
    AppendCommand(*command, command->get_name(), page);
  }
  page += R"(.SH FILES
.TP
.I /etc/sluice/sluice.yaml
The settings of the server that systemd runs.
.TP
.I /etc/sluice/rules.yaml
Its rules.
.TP
.I /etc/default/sluice
Variables for it, such as secrets: a setting is \fBSLUICE_\fR and its name in capitals.
.SH SEE ALSO
.BR sluice\-rules (5)
)";
  return page;
}

}  // namespace sluice::app
