#include "tests/integration/harness/reply.h"

#include <cstdio>

namespace iris::harness {
namespace {

using Type = Reply::Type;

constexpr size_t kPrintedBytes = 300;

Reply of_text(Type type, std::string_view text) {
  Reply reply;
  reply.type = type;
  reply.text = text;
  return reply;
}

void print_quoted(std::string_view bytes, std::ostream& out) {
  out << '"';
  for (const char c : bytes.substr(0, kPrintedBytes)) {
    if (c == '\r') {
      out << "\\r";
    } else if (c == '\n') {
      out << "\\n";
    } else if (c == '"' || c == '\\') {
      out << '\\' << c;
    } else if (c < ' ' || c == 127) {
      char escaped[5];
      std::snprintf(escaped, sizeof escaped, "\\x%02x", static_cast<unsigned char>(c));
      out << escaped;
    } else {
      out << c;
    }
  }
  out << '"';
  if (bytes.size() > kPrintedBytes) out << "... (" << bytes.size() << " bytes)";
}

void print_elements(const Reply& reply, std::ostream& out) {
  const bool is_map = reply.type == Type::kMap;
  out << (is_map ? '{' : '[');
  for (size_t i = 0; i < reply.elements.size(); ++i) {
    if (i > 0) out << (is_map && i % 2 == 1 ? ": " : ", ");
    PrintTo(reply.elements[i], &out);
  }
  out << (is_map ? '}' : ']');
}

const Reply& missing() {
  static const Reply reply = no_reply("no such element");
  return reply;
}

}  // namespace

bool Reply::is_error(std::string_view code) const {
  return is_error() && text.starts_with(code) &&
         (text.size() == code.size() || text[code.size()] == ' ');
}

bool Reply::is_aggregate() const {
  return type == Type::kArray || type == Type::kMap || type == Type::kSet || type == Type::kPush;
}

std::string_view Reply::string() const {
  std::string_view view = text;
  if (type == Type::kVerbatim) view.remove_prefix(std::min<size_t>(4, view.size()));
  return view;
}

const Reply& Reply::at(std::string_view key) const {
  for (size_t i = 0; i + 1 < elements.size(); i += 2) {
    if (elements[i].text == key) return elements[i + 1];
  }
  return missing();
}

const Reply& Reply::operator[](size_t index) const {
  return index < elements.size() ? elements[index] : missing();
}

std::vector<std::string> Reply::strings() const {
  std::vector<std::string> texts;
  texts.reserve(elements.size());
  for (const Reply& element : elements) texts.emplace_back(element.string());
  return texts;
}

void PrintTo(const Reply& reply, std::ostream* out_pointer) {
  std::ostream& out = *out_pointer;
  switch (reply.type) {
    case Type::kNone:
      out << "<no reply: " << reply.text << '>';
      break;
    case Type::kSimple:
      out << '+' << reply.text;
      break;
    case Type::kError:
      out << '-' << reply.text;
      break;
    case Type::kInteger:
      out << ':' << reply.integer;
      break;
    case Type::kBulk:
      print_quoted(reply.text, out);
      break;
    case Type::kNullBulk:
      out << "nil";
      break;
    case Type::kNullArray:
      out << "nil-array";
      break;
    case Type::kNull:
      out << "null";
      break;
    case Type::kSet:
      out << '~';
      print_elements(reply, out);
      break;
    case Type::kPush:
      out << '>';
      print_elements(reply, out);
      break;
    case Type::kArray:
    case Type::kMap:
      print_elements(reply, out);
      break;
    case Type::kBoolean:
      out << (reply.integer != 0 ? "#t" : "#f");
      break;
    case Type::kDouble:
      out << ',' << reply.real;
      break;
    case Type::kBigNumber:
      out << '(' << reply.text;
      break;
    case Type::kVerbatim:
      out << '=';
      print_quoted(reply.text, out);
      break;
  }
}

Reply simple(std::string_view text) {
  return of_text(Type::kSimple, text);
}
Reply ok() {
  return simple("OK");
}
Reply queued() {
  return simple("QUEUED");
}
Reply error(std::string_view text) {
  return of_text(Type::kError, text);
}
Reply bulk(std::string_view bytes) {
  return of_text(Type::kBulk, bytes);
}
Reply nil() {
  return of_text(Type::kNullBulk, "");
}
Reply nil_array() {
  return of_text(Type::kNullArray, "");
}
Reply null() {
  return of_text(Type::kNull, "");
}
Reply no_reply(std::string_view why) {
  return of_text(Type::kNone, why);
}

Reply integer(int64_t value) {
  Reply reply;
  reply.type = Type::kInteger;
  reply.integer = value;
  return reply;
}

Reply boolean(bool value) {
  Reply reply;
  reply.type = Type::kBoolean;
  reply.integer = value ? 1 : 0;
  return reply;
}

Reply real(double value) {
  Reply reply;
  reply.type = Type::kDouble;
  reply.real = value;
  return reply;
}

Reply array(std::vector<Reply> elements) {
  Reply reply;
  reply.type = Type::kArray;
  reply.elements = std::move(elements);
  return reply;
}

Reply bulks(const std::vector<std::string>& texts) {
  Reply reply = array({});
  for (const std::string& text : texts) reply.elements.push_back(bulk(text));
  return reply;
}

Reply map(const std::vector<std::pair<Reply, Reply>>& pairs) {
  Reply reply;
  reply.type = Type::kMap;
  for (const auto& [key, value] : pairs) {
    reply.elements.push_back(key);
    reply.elements.push_back(value);
  }
  return reply;
}

}  // namespace iris::harness
