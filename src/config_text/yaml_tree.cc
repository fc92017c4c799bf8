#include "config_text/yaml_tree.h"

#include <algorithm>
#include <cstring>
#include <istream>
#include <new>
#include <optional>
#include <streambuf>
#include <unordered_set>
#include <vector>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include "base/ascii.h"
#include "config_text/yaml_text.h"

namespace sluice::config_text {
namespace {

/// Thrown through yaml-cpp, which throws itself, and caught in Parse.
struct YamlException {
  YamlError error;
};

[[noreturn]] void Refuse(Position position, std::string message) {
  throw YamlException{{position, std::move(message)}};
}

Position At(const YAML::Mark& mark) { return {mark.line + 1, mark.column + 1}; }

/// Makes yaml-cpp read the text without a copy.
class TextBuffer : public std::streambuf {
 public:
  explicit TextBuffer(std::string_view text) {
    char* begin = const_cast<char*>(text.data());  // A get area is only read.
    setg(begin, begin, begin + text.size());
  }
};

// Whether the quoted text that begins at `at`, perhaps behind an anchor or a tag, has an end. Only
// the last one of a file can have none, and yaml-cpp does not mind.
bool IsClosed(std::string_view text, std::size_t at) {
  at = SkipYamlProperties(text, at);
  if (at >= text.size() || (text[at] != '"' && text[at] != '\'')) return true;
  return FindQuoteEnd(text, at) != std::string_view::npos;
}

bool IsMergeKey(const YamlNode& key) {
  return key.kind == YamlKind::kScalar && !key.quoted && key.text == "<<";
}

}  // namespace

class YamlBuilder : public YAML::EventHandler {
 public:
  explicit YamlBuilder(YamlTree& tree) : tree_(tree) {
    tree_.memory_ = std::make_unique<std::pmr::monotonic_buffer_resource>(std::size_t{1} << 16);
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (seen_document_) Refuse(At(mark), "a second document; a rule file is one document");
    seen_document_ = true;
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Add(*New(YamlKind::kNull, mark, anchor));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const YamlNode* node = anchor < anchors_.size() ? anchors_[anchor] : nullptr;
    if (node == nullptr) Refuse(At(mark), "unknown alias");
    if (node->weight == 0) Refuse(At(mark), "an alias of what it is part of");
    Add(*node);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    YamlNode* node = New(YamlKind::kScalar, mark, anchor);
    node->quoted = tag == "!";
    if (node->quoted) last_quoted_ = mark;
    node->text = Keep(value);
    // yaml-cpp reports a null only where nothing at all is written.
    if (!node->quoted && (value.empty() || value == "~" || value == "null")) {
      node->kind = YamlKind::kNull;
    }
    Add(*node);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value style) override {
    Open(YamlKind::kSequence, mark, anchor, style);
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override {
    Open(YamlKind::kMapping, mark, anchor, style);
  }
  void OnMapEnd() override { Close(); }

  /// Where the last scalar in quotes, or as a block, begins.
  [[nodiscard]] const YAML::Mark& last_quoted() const { return last_quoted_; }

 private:
  struct OpenNode {
    YamlNode* node;
    std::size_t first;  ///< Its children so far begin here in `pending_`.
  };

  YamlNode* New(YamlKind kind, const YAML::Mark& mark, YAML::anchor_t anchor) {
    void* place = tree_.memory_->allocate(sizeof(YamlNode), alignof(YamlNode));
    auto* node = new (place) YamlNode{
        .kind = kind, .position = At(mark), .offset = static_cast<std::uint32_t>(mark.pos)};
    if (anchor != YAML::NullAnchor) {
      if (anchors_.size() <= anchor) anchors_.resize(anchor + 1);
      anchors_[anchor] = node;
    }
    return node;
  }

  std::string_view Keep(const std::string& text) {
    if (text.empty()) return {};
    char* copy = static_cast<char*>(tree_.memory_->allocate(text.size(), 1));
    std::memcpy(copy, text.data(), text.size());
    return {copy, text.size()};
  }

  void Open(YamlKind kind, const YAML::Mark& mark, YAML::anchor_t anchor,
            YAML::EmitterStyle::value style) {
    if (open_.size() >= kMaxYamlDepth) {
      Refuse(At(mark), "nested deeper than " + std::to_string(kMaxYamlDepth) + " levels");
    }
    YamlNode* node = New(kind, mark, anchor);
    node->flow = style == YAML::EmitterStyle::Flow;
    node->weight = 0;  // Until it is closed.
    open_.push_back({node, pending_.size()});
  }

  void Close() {
    const OpenNode closed = open_.back();
    open_.pop_back();
    if (closed.node->kind == YamlKind::kMapping) Merge(closed.first);
    const std::size_t count = pending_.size() - closed.first;
    std::uint64_t weight = 1;
    if (count > 0) {
      auto** children = static_cast<const YamlNode**>(
          tree_.memory_->allocate(count * sizeof(const YamlNode*), alignof(const YamlNode*)));
      for (std::size_t i = 0; i < count; ++i) {
        children[i] = pending_[closed.first + i];
        weight += children[i]->weight;  // At most 2^64 / 2^25 children: it can't wrap.
      }
      closed.node->children = {children, count};
    }
    if (weight > kMaxYamlWeight) {
      Refuse(closed.node->position,
             "aliases included, it has more than " + std::to_string(kMaxYamlWeight) + " values");
    }
    closed.node->weight = weight;
    pending_.resize(closed.first);
    Add(*closed.node);
  }

  void Add(const YamlNode& node) {
    if (open_.empty()) {
      tree_.root_ = &node;
    } else {
      pending_.push_back(&node);
    }
  }

  // Replaces each `<<` of the mapping whose fields begin at `first` by the fields that it names,
  // unless the mapping has them already.
  void Merge(std::size_t first) {
    std::vector<const YamlNode*> sources;
    std::size_t kept = first;
    for (std::size_t i = first; i + 1 < pending_.size(); i += 2) {
      if (IsMergeKey(*pending_[i])) {
        AddSources(*pending_[i + 1], sources);
      } else {
        pending_[kept] = pending_[i];
        pending_[kept + 1] = pending_[i + 1];
        kept += 2;
      }
    }
    if (sources.empty()) return;
    pending_.resize(kept);
    std::unordered_set<std::string_view> names;
    for (std::size_t i = first; i < kept; i += 2) names.insert(pending_[i]->text);
    for (const YamlNode* source : sources) {
      for (std::size_t i = 0; i < source->children.size(); i += 2) {
        if (++merged_ > kMaxYamlMerged) Refuse(source->position, "merged too often");
        if (!names.insert(source->children[i]->text).second) continue;
        pending_.push_back(source->children[i]);
        pending_.push_back(source->children[i + 1]);
      }
    }
  }

  static void AddSources(const YamlNode& value, std::vector<const YamlNode*>& sources) {
    if (value.kind == YamlKind::kMapping) {
      sources.push_back(&value);
      return;
    }
    const bool is_list =
        value.kind == YamlKind::kSequence &&
        std::all_of(value.children.begin(), value.children.end(),
                    [](const YamlNode* item) { return item->kind == YamlKind::kMapping; });
    if (!is_list) Refuse(value.position, "<<: expected a mapping, or a list of mappings");
    sources.insert(sources.end(), value.children.begin(), value.children.end());
  }

  YamlTree& tree_;
  YAML::Mark last_quoted_ = YAML::Mark::null_mark();
  bool seen_document_ = false;
  std::vector<OpenNode> open_;
  std::vector<const YamlNode*> pending_;
  std::vector<const YamlNode*> anchors_;
  std::uint64_t merged_ = 0;
};

std::variant<YamlTree, YamlError> YamlTree::Parse(std::string_view text) {
  if (auto problem = FindTextProblem(text)) return *std::move(problem);
  if (auto problem = FindTooManyMarks(text)) return *std::move(problem);
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // A byte order mark.
  TextBuffer buffer(text);
  std::istream in(&buffer);
  YamlTree tree;
  YamlBuilder builder(tree);
  try {
    YAML::Parser parser(in);
    while (parser.HandleNextDocument(builder)) {
    }
    const YAML::Mark& quoted = builder.last_quoted();
    if (!quoted.is_null() && !IsClosed(text, static_cast<std::size_t>(quoted.pos))) {
      Refuse(At(quoted), "not YAML: the quote is never closed");
    }
  } catch (const YamlException& refused) {
    return refused.error;
  } catch (const YAML::Exception& error) {
    // To this message, yaml-cpp 0.8 adds the name of the anchor.
    constexpr std::string_view kUnknownAnchor = "the referenced anchor is not defined";
    const bool is_unknown = error.msg.starts_with(kUnknownAnchor);
    return YamlError{At(error.mark),
                     "not YAML: " + (is_unknown ? std::string(kUnknownAnchor) : error.msg)};
  }
  return tree;
}

bool IsJsonWord(std::string_view text) {
  if (text == "true" || text == "false" || text == "null") return true;
  const std::size_t digits = text.starts_with('-') ? 1 : 0;
  std::size_t at = digits;
  const auto skip_digits = [&] {
    const std::size_t first = at;
    while (at < text.size() && IsDigit(text[at])) ++at;
    return at > first;
  };
  if (!skip_digits() || (text[digits] == '0' && at > digits + 1)) return false;
  if (at < text.size() && text[at] == '.') {
    ++at;
    if (!skip_digits()) return false;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    if (!skip_digits()) return false;
  }
  return at == text.size();
}

bool SameValue(const YamlNode& a, const YamlNode& b) {
  if (&a == &b) return true;
  if (a.kind != b.kind || a.children.size() != b.children.size()) return false;
  if (a.kind == YamlKind::kNull) return true;
  if (a.kind == YamlKind::kScalar) {
    return a.text == b.text && (a.quoted == b.quoted || !IsJsonWord(a.text));
  }
  for (std::size_t i = 0; i < a.children.size(); ++i) {
    if (!SameValue(*a.children[i], *b.children[i])) return false;
  }
  return true;
}

}  // namespace sluice::config_text
