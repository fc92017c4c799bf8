#include "config_text/yaml_edit.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "config_text/yaml_text.h"
#include "config_text/yaml_writer.h"

namespace sluice::config_text {
namespace {

constexpr std::size_t kNowhere = std::string_view::npos;

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

std::size_t LineBegin(std::string_view text, std::size_t at) {
  return at == 0 ? 0 : text.rfind('\n', at - 1) + 1;  // npos + 1 is 0.
}

// Behind the line end, or the end of the text.
std::size_t LineEnd(std::string_view text, std::size_t at) {
  const std::size_t end = text.find('\n', at);
  return end == kNowhere ? text.size() : end + 1;
}

// Whether nothing of a value is in the line: it is empty, a comment, or the mark of a document.
bool IsWithoutContent(std::string_view line) {
  const std::size_t first = line.find_first_not_of(" \t\r\n");
  if (first == kNowhere || line[first] == '#') return true;
  return line.starts_with("...") || line.starts_with("---");
}

struct Span {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// The end of an entry in brackets.
struct FlowEnd {
  std::size_t content = kNowhere;     ///< Behind its last byte.
  std::size_t terminator = kNowhere;  ///< The comma or bracket behind it.
};

enum class FlowScope : std::uint8_t {
  kEntry,     ///< An entry between brackets: up to its comma, or the bracket behind it.
  kBrackets,  ///< A list or mapping: up to its own closing bracket.
};

// Finds the end of the value that begins at `at`.
FlowEnd FindFlowEnd(std::string_view text, std::size_t at, FlowScope scope = FlowScope::kEntry) {
  FlowEnd end{.content = at};
  int depth = 0;
  bool in_plain = false;
  const auto is_indicator = [](char c) {
    return c == ',' || c == '[' || c == ']' || c == '{' || c == '}';
  };
  while (at < text.size()) {
    const char c = text[at];
    if (IsBlank(c)) {
      ++at;
      continue;
    }
    if (c == '#' && (at == 0 || IsBlank(text[at - 1]))) {
      at = LineEnd(text, at);
      continue;
    }
    if (!in_plain && (c == '"' || c == '\'')) {
      at = FindQuoteEnd(text, at);
      if (at == kNowhere) return {};
      end.content = at;
      continue;
    }
    if (!in_plain && (c == '&' || c == '!')) {
      while (at < text.size() && !IsBlank(text[at]) && !is_indicator(text[at])) ++at;
      end.content = at;
      continue;
    }
    if (is_indicator(c)) {
      in_plain = false;
      const bool closes = c == ']' || c == '}';
      if (depth == 0 && (closes || c == ',')) {
        end.terminator = at;
        return end;
      }
      if (closes && --depth == 0 && scope == FlowScope::kBrackets) {
        return {.content = at + 1, .terminator = at};
      }
      if (c == '[' || c == '{') ++depth;
    } else if (c == ':' && (!in_plain || at + 1 >= text.size() || IsBlank(text[at + 1]) ||
                            is_indicator(text[at + 1]))) {
      in_plain = false;
    } else {
      in_plain = true;
    }
    end.content = ++at;
  }
  return {};
}

/// Makes changes at several places of a text.
class TextChanges {
 public:
  void Replace(Span span, std::string by) { changes_.emplace_back(span, std::move(by)); }

  std::string Apply(std::string_view text) {
    std::sort(changes_.begin(), changes_.end(),
              [](const auto& a, const auto& b) { return a.first.begin < b.first.begin; });
    std::string out;
    std::size_t at = 0;
    for (const auto& [span, by] : changes_) {
      out.append(text.substr(at, span.begin - at)).append(by);
      at = span.end;
    }
    return out.append(text.substr(at));
  }

 private:
  std::vector<std::pair<Span, std::string>> changes_;
};

class EntryEditor {
 public:
  explicit EntryEditor(const YamlSource& source)
      : text_(source.text),
        root_(*source.root),
        newline_(text_.find("\r\n") != kNowhere ? "\r\n" : "\n") {}

  bool Open(std::size_t field) {
    name_ = root_.children[field];
    value_ = root_.children[field + 1];
    is_mapping_ = value_->kind == YamlKind::kMapping;
    count_ = value_->children.size() / (is_mapping_ ? 2 : 1);
    // Behind an alias, the value is somewhere else.
    return value_->offset > name_->offset;
  }

  std::optional<std::string> Replace(std::size_t index, const YamlEntry& entry) {
    if (value_->flow) {
      const std::size_t begin = StartOf(index).offset;
      const FlowEnd end = FlowEndOf(index);
      if (end.terminator == kNowhere) return std::nullopt;
      return Changed({begin, end.content}, Flow(entry));
    }
    const std::optional<Span> span = BlockSpan(index);
    if (!span) return std::nullopt;
    std::string lines = Block(entry, ColumnOf(span->begin));
    // The last line of a text may lack its end.
    if (text_[span->end - 1] != '\n') lines.resize(lines.size() - newline_.size());
    return Changed(*span, std::move(lines));
  }

  std::optional<std::string> Remove(std::size_t index) {
    return value_->flow ? RemoveFlow(index) : RemoveBlock(index);
  }

  std::optional<std::string> Add(const YamlEntry& entry) {
    if (value_->flow && count_ == 0) return AddFirst(entry);
    if (value_->flow) {
      const FlowEnd end = FlowEndOf(count_ - 1);
      if (end.terminator == kNowhere) return std::nullopt;
      return Changed({end.content, end.content}, ", " + Flow(entry));
    }
    if (count_ == 0) return std::nullopt;
    const std::optional<Span> last = BlockSpan(count_ - 1);
    if (!last) return std::nullopt;
    const std::size_t column = ColumnOf(last->begin);
    return Inserted(last->end, std::string(column, ' ') + Block(entry, column));
  }

  std::optional<std::string> AddField(std::string_view name, YamlKind kind,
                                      const YamlEntry& entry) {
    is_mapping_ = kind == YamlKind::kMapping;
    const YamlNode* last = nullptr;
    for (std::size_t i = 0; i < root_.children.size(); i += 2) {
      if (last == nullptr || root_.children[i]->offset > last->offset) last = root_.children[i];
    }
    if (last == nullptr) return std::nullopt;
    std::string field;
    AppendYamlText(name, field);
    if (root_.flow) {
      const FlowEnd end = FindFlowEnd(text_, last->offset);
      if (end.terminator == kNowhere) return std::nullopt;
      field += is_mapping_ ? ": {" : ": [";
      field += Flow(entry) + (is_mapping_ ? '}' : ']');
      return Changed({end.content, end.content}, ", " + field);
    }
    const std::size_t column = ColumnOf(last->offset);
    std::size_t end = text_.size();
    while (end > 0) {
      const std::size_t line = LineBegin(text_, end - 1);
      if (!text_.substr(line).starts_with("...")) break;
      end = line;
    }
    const std::string indent(column, ' ');
    field = indent + field + ':' + newline_ + indent + std::string(kYamlIndent, ' ') +
            Block(entry, column + kYamlIndent);
    return Inserted(end, std::move(field));
  }

 private:
  const YamlNode& StartOf(std::size_t index) const {
    return *value_->children[is_mapping_ ? 2 * index : index];
  }

  FlowEnd FlowEndOf(std::size_t index) const {
    // Behind an alias, the entry is somewhere else.
    const std::size_t begin = StartOf(index).offset;
    const std::size_t before = index == 0 ? value_->offset : StartOf(index - 1).offset;
    return begin > before ? FindFlowEnd(text_, begin) : FlowEnd{};
  }

  std::size_t ColumnOf(std::size_t offset) const { return offset - LineBegin(text_, offset); }

  std::string Changed(Span span, std::string by) const {
    TextChanges changes;
    changes.Replace(span, std::move(by));
    return changes.Apply(text_);
  }

  // Inserts whole lines at the beginning of a line, or at the end of the text.
  std::string Inserted(std::size_t at, std::string lines) const {
    if (at > 0 && text_[at - 1] != '\n') {
      lines.insert(0, newline_);
      lines.resize(lines.size() - newline_.size());
    }
    return Changed({at, at}, std::move(lines));
  }

  std::string Flow(const YamlEntry& entry) const {
    std::string out;
    if (is_mapping_) {
      AppendYamlText(entry.name, out);
      out += ": ";
    }
    AppendYamlFlow(*entry.value, out);
    return out;
  }

  // The lines of an entry whose dash or name is at `column`, without the indent of the first one.
  std::string Block(const YamlEntry& entry, std::size_t column) const {
    std::string out;
    if (is_mapping_) {
      AppendYamlText(entry.name, out);
      out += ':';
    } else {
      out += "- ";
    }
    const std::size_t indent = column + kYamlIndent;
    if (entry.lines.empty()) {
      AppendYamlBlock(*entry.value, indent, is_mapping_ ? BlockStart::kName : BlockStart::kLine,
                      out);
    } else {
      AppendIndented(entry.lines, indent, out);
    }
    if (newline_ == "\n") return out;
    std::string with_returns;
    for (const char c : out) {
      if (c == '\n') with_returns += '\r';
      with_returns += c;
    }
    return with_returns;
  }

  void AppendIndented(std::string_view lines, std::size_t indent, std::string& out) const {
    bool is_first = !is_mapping_;  // The first field follows the dash.
    if (is_mapping_) out += '\n';
    while (!lines.empty()) {
      std::string_view line = lines.substr(0, LineEnd(lines, 0));
      lines.remove_prefix(line.size());
      while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.remove_suffix(1);
      if (!is_first && !line.empty()) out.append(indent, ' ');
      is_first = false;
      out.append(line).push_back('\n');
    }
  }

  // The dash or name of an entry in block style, with only white space before it in its line.
  std::size_t BlockBegin(std::size_t index) const {
    const std::size_t offset = StartOf(index).offset;
    if (offset <= name_->offset) return kNowhere;
    std::size_t line = LineBegin(text_, offset);
    std::string_view before = text_.substr(line, offset - line);
    if (is_mapping_) return before.find_first_not_of(' ') == kNowhere ? offset : kNowhere;
    // The dash may be in an earlier line than its value.
    while (true) {
      const std::size_t dash = before.find_first_not_of(' ');
      if (dash != kNowhere && before[dash] == '-') {
        return IsWithoutContent(before.substr(dash + 1)) ? line + dash : kNowhere;
      }
      if (!IsWithoutContent(before) || line <= name_->offset) return kNowhere;
      const std::size_t end = line;
      line = LineBegin(text_, line - 1);
      before = text_.substr(line, end - line);
    }
  }

  std::optional<Span> BlockSpan(std::size_t index) const {
    const std::size_t begin = BlockBegin(index);
    if (begin == kNowhere) return std::nullopt;
    std::size_t bound = text_.size();
    if (index + 1 < count_) {
      bound = BlockBegin(index + 1);
      if (bound == kNowhere || bound <= begin) return std::nullopt;
    }
    for (std::size_t i = 0; i < root_.children.size(); i += 2) {
      const std::size_t offset = root_.children[i]->offset;
      if (offset > begin) bound = std::min(bound, offset);
    }
    bound = bound == text_.size() ? bound : LineBegin(text_, bound);
    std::size_t covered = begin + 1;
    Cover(StartOf(index), {begin, bound}, covered);
    if (is_mapping_) Cover(*value_->children[2 * index + 1], {begin, bound}, covered);
    std::size_t end = bound;
    while (end > covered) {
      const std::size_t line = LineBegin(text_, end - 1);
      if (line < covered || !IsWithoutContent(text_.substr(line, end - line))) break;
      end = line;
    }
    if (end <= begin) return std::nullopt;
    return Span{begin, end};
  }

  // Raises `covered` to where the value, if it begins in the span, certainly reaches: the lines
  // that look like comments there are part of it.
  void Cover(const YamlNode& node, const Span& span, std::size_t& covered) const {
    if (node.kind == YamlKind::kNull) return;  // It has the position of the next token.
    if (node.offset < span.begin || node.offset >= span.end) return;
    const std::size_t at = SkipYamlProperties(text_, node.offset);
    if (at >= span.end) return;
    covered = std::max(covered, at + 1);
    const char first = text_[at];
    if (node.kind == YamlKind::kScalar) {
      if (!node.quoted) return;
      const std::size_t end =
          first == '"' || first == '\'' ? FindQuoteEnd(text_, at) : BlockScalarEnd(at, span.end);
      if (end <= span.end) covered = std::max(covered, end);
      return;
    }
    if (node.flow) {
      const FlowEnd end = FindFlowEnd(text_, at, FlowScope::kBrackets);
      if (end.terminator < span.end) covered = std::max(covered, end.content);
      return;
    }
    for (const YamlNode* child : node.children) Cover(*child, span, covered);
  }

  // The end of the last line of a text that begins with '|' or '>'.
  std::size_t BlockScalarEnd(std::size_t at, std::size_t bound) const {
    std::size_t end = LineEnd(text_, at);
    std::size_t indent = 0;
    for (std::size_t line = end; line < bound;) {
      const std::size_t next = LineEnd(text_, line);
      const std::string_view content = text_.substr(line, next - line);
      const std::size_t first = content.find_first_not_of(" \r\n");
      if (first != kNowhere) {
        if (indent == 0) indent = first;
        if (first < indent || first == 0) break;
        end = next;
      }
      line = next;
    }
    return end;
  }

  // Behind the colon of the field's name.
  std::size_t BehindName() const {
    std::size_t at = SkipYamlProperties(text_, name_->offset);
    if (at >= text_.size()) return kNowhere;
    at = text_[at] == '"' || text_[at] == '\'' ? FindQuoteEnd(text_, at) : at + name_->text.size();
    if (at >= text_.size()) return kNowhere;
    at = text_.find_first_not_of(' ', at);
    return at == kNowhere || text_[at] != ':' ? kNowhere : at + 1;
  }

  std::optional<std::string> RemoveBlock(std::size_t index) const {
    const std::optional<Span> span = BlockSpan(index);
    if (!span) return std::nullopt;
    TextChanges changes;
    if (count_ == 1) {
      const std::size_t behind = BehindName();
      if (behind == kNowhere || behind > span->begin) return std::nullopt;
      changes.Replace({behind, behind}, is_mapping_ ? " {}" : " []");
    }
    changes.Replace({LineBegin(text_, span->begin), span->end}, "");
    return changes.Apply(text_);
  }

  std::optional<std::string> RemoveFlow(std::size_t index) const {
    Span span{StartOf(index).offset, 0};
    const FlowEnd end = FlowEndOf(index);
    if (end.terminator == kNowhere) return std::nullopt;
    TextChanges changes;
    if (text_[end.terminator] == ',') {
      const std::string_view between = text_.substr(end.content, end.terminator - end.content);
      if (!std::all_of(between.begin(), between.end(), IsBlank)) {
        changes.Replace({span.begin, end.content}, "");
        changes.Replace({end.terminator, end.terminator + 1}, "");
        return changes.Apply(text_);
      }
      span.end = end.terminator + 1;
      while (span.end < text_.size() && text_[span.end] == ' ') ++span.end;
      const std::size_t line = LineBegin(text_, span.begin);
      const bool is_whole_line =
          text_.substr(line, span.begin - line).find_first_not_of(" \t") == kNowhere &&
          span.end < text_.size() && (text_[span.end] == '\r' || text_[span.end] == '\n');
      if (is_whole_line) span = {line, LineEnd(text_, span.end)};
      changes.Replace(span, "");
      return changes.Apply(text_);
    }
    span.end = end.content;
    if (index > 0) {
      const std::size_t comma = FlowEndOf(index - 1).terminator;
      if (comma == kNowhere || comma >= span.begin) return std::nullopt;
      const std::string_view between = text_.substr(comma + 1, span.begin - comma - 1);
      if (std::all_of(between.begin(), between.end(), IsBlank)) {
        span.begin = comma;
      } else {
        changes.Replace({comma, comma + 1}, "");
      }
    }
    changes.Replace(span, "");
    return changes.Apply(text_);
  }

  // Adds to `[]` or `{}`: in block style, if they stand alone behind a name in block style.
  std::optional<std::string> AddFirst(const YamlEntry& entry) const {
    const std::size_t open = SkipYamlProperties(text_, value_->offset);
    const std::size_t behind = BehindName();
    if (open >= text_.size()) return std::nullopt;
    const std::string_view brackets = text_.substr(open, 2);
    const bool alone = !root_.flow && behind != kNowhere && behind <= open &&
                       (brackets == "[]" || brackets == "{}") &&
                       text_.substr(behind, open - behind).find_first_not_of(' ') == kNowhere;
    if (!alone) return Changed({open + 1, open + 1}, Flow(entry));
    const std::size_t column = ColumnOf(name_->offset) + kYamlIndent;
    std::string lines = std::string(column, ' ') + Block(entry, column);
    const std::size_t next = LineEnd(text_, open);
    if (text_[next - 1] != '\n') {
      lines.insert(0, newline_);
      lines.resize(lines.size() - newline_.size());
    }
    TextChanges changes;
    changes.Replace({behind, open + 2}, "");
    changes.Replace({next, next}, std::move(lines));
    return changes.Apply(text_);
  }

  std::string_view text_;
  const YamlNode& root_;
  std::string newline_;
  const YamlNode* name_ = nullptr;
  const YamlNode* value_ = nullptr;
  bool is_mapping_ = false;
  std::size_t count_ = 0;
};

}  // namespace

std::optional<std::string> ReplaceEntry(const YamlSource& source, std::size_t field,
                                        std::size_t index, const YamlEntry& entry) {
  EntryEditor editor(source);
  return editor.Open(field) ? editor.Replace(index, entry) : std::nullopt;
}

std::optional<std::string> RemoveEntry(const YamlSource& source, std::size_t field,
                                       std::size_t index) {
  EntryEditor editor(source);
  return editor.Open(field) ? editor.Remove(index) : std::nullopt;
}

std::optional<std::string> AddEntry(const YamlSource& source, std::size_t field,
                                    const YamlEntry& entry) {
  EntryEditor editor(source);
  return editor.Open(field) ? editor.Add(entry) : std::nullopt;
}

std::optional<std::string> AddField(const YamlSource& source, std::string_view name, YamlKind kind,
                                    const YamlEntry& entry) {
  return EntryEditor(source).AddField(name, kind, entry);
}

}  // namespace sluice::config_text
