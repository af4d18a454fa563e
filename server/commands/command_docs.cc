#include "server/commands/command_docs.h"

#include <string>

namespace iris::server {

namespace {

using protocol::ReplyWriter;

std::vector<std::string_view> shown_flags(const CommandSpec& spec) {
  struct Name {
    uint32_t flag;
    std::string_view name;
  };
  // In the order of Redis; flags of our own are not shown.
  constexpr Name kNames[] = {
      {kWrite, "write"}, {kReadonly, "readonly"},        {kDenyOom, "denyoom"},
      {kAdmin, "admin"}, {kNoScript, "noscript"},        {kLoading, "loading"},
      {kStale, "stale"}, {kSkipMonitor, "skip_monitor"}, {kSkipSlowlog, "skip_slowlog"},
      {kFast, "fast"},   {kNoAuth, "no_auth"},           {kNoMulti, "no_multi"},
  };
  std::vector<std::string_view> flags;
  for (const Name& name : kNames) {
    if ((spec.flags & name.flag) != 0) flags.push_back(name.name);
  }
  return flags;
}

// Keys lie at regular positions in all our commands, so one specification tells them all: where
// they begin, and how to go on from there.
void key_specifications(ReplyWriter& reply, const CommandSpec& spec) {
  const KeyPositions& keys = spec.keys;
  if (keys.first == 0) {
    reply.set(0);
    return;
  }
  reply.set(1);
  reply.map(3);
  reply.bulk("flags");
  reply_with_words(reply, key_flags(spec));
  reply.bulk("begin_search");
  reply.map(2);
  reply.bulk("type");
  reply.bulk("index");
  reply.bulk("spec");
  reply.map(1);
  reply.bulk("index");
  reply.integer(keys.first);
  reply.bulk("find_keys");
  reply.map(2);
  reply.bulk("type");
  reply.bulk("range");
  reply.bulk("spec");
  reply.map(3);
  reply.bulk("lastkey");
  // Here counted from the first key, unless from the end.
  reply.integer(keys.last >= 0 ? keys.last - keys.first : keys.last);
  reply.bulk("keystep");
  reply.integer(keys.step);
  reply.bulk("limit");
  reply.integer(0);
}

void text_pair(ReplyWriter& reply, std::string_view name, std::string_view value) {
  reply.bulk(name);
  reply.bulk(value);
}

void arguments(ReplyWriter& reply, const std::vector<Argument>& list, bool has_keys);

void argument(ReplyWriter& reply, const Argument& argument, bool has_keys) {
  const bool has_parts = !argument.parts.empty();
  const bool is_key = has_keys && argument.type == "key";
  std::vector<std::string_view> flags;
  if (argument.optional) flags.push_back("optional");
  if (argument.multiple) flags.push_back("multiple");
  const uint64_t pairs =
      3 + (is_key ? 1u : 0u) + (argument.token.empty() ? 0u : 1u) + (flags.empty() ? 0u : 1u);
  reply.map(pairs);
  text_pair(reply, "name", argument.name);
  text_pair(reply, "type", argument.type);
  if (!has_parts) text_pair(reply, "display_text", argument.name);
  if (is_key) {
    reply.bulk("key_spec_index");
    reply.integer(0);
  }
  if (!argument.token.empty()) text_pair(reply, "token", argument.token);
  if (!flags.empty()) {
    reply.bulk("flags");
    reply_with_words(reply, flags);
  }
  if (has_parts) {
    reply.bulk("arguments");
    arguments(reply, argument.parts, has_keys);
  }
}

void arguments(ReplyWriter& reply, const std::vector<Argument>& list, bool has_keys) {
  reply.array(list.size());
  for (const Argument& one : list) argument(reply, one, has_keys);
}

}  // namespace

void reply_with_words(ReplyWriter& reply, const std::vector<std::string_view>& words) {
  reply.set(words.size());
  for (const std::string_view word : words) reply.simple(word);
}

std::vector<std::string_view> key_flags(const CommandSpec& spec) {
  if ((spec.flags & kWrite) != 0) return {"RW", "access", "update"};
  if ((spec.flags & kReadonly) != 0) return {"RO", "access"};
  return {"RO"};
}

bool is_bloom_module_command(const CommandSpec& spec) {
  return spec.group == "bf" || spec.group == "cf";
}

void reply_with_command_info(ReplyWriter& reply, const Command& command) {
  const CommandSpec& spec = *command.spec;
  reply.array(10);
  reply.bulk(command.full_name);
  reply.integer(spec.arity);
  reply_with_words(reply, shown_flags(spec));
  reply.integer(spec.keys.first);
  reply.integer(spec.keys.last);
  reply.integer(spec.keys.step);
  reply_with_words(reply, command.categories);
  reply.set(0);  // tips for proxies that spread a command over shards
  key_specifications(reply, spec);
  if (command.subcommands.empty()) {
    reply.set(0);
    return;
  }
  reply.array(command.subcommands.size());
  for (const Command& subcommand : command.subcommands) reply_with_command_info(reply, subcommand);
}

void reply_with_command_docs(ReplyWriter& reply, const Command& command) {
  const CommandSpec& spec = *command.spec;
  const bool of_module = is_bloom_module_command(spec);
  reply.map(4 + (of_module ? 1u : 0u) + (command.arguments.empty() ? 0u : 1u) +
            (command.subcommands.empty() ? 0u : 1u));
  text_pair(reply, "summary", spec.summary);
  text_pair(reply, "since", spec.since);
  text_pair(reply, "group", spec.group);
  text_pair(reply, "complexity", spec.complexity);
  if (of_module) text_pair(reply, "module", "bf");
  if (!command.arguments.empty()) {
    reply.bulk("arguments");
    arguments(reply, command.arguments, spec.keys.first != 0);
  }
  if (command.subcommands.empty()) return;
  reply.bulk("subcommands");
  reply.map(command.subcommands.size());
  for (const Command& subcommand : command.subcommands) {
    reply.bulk(subcommand.full_name);
    reply_with_command_docs(reply, subcommand);
  }
}

}  // namespace iris::server
