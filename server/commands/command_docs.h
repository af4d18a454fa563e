// How COMMAND shows a command: the entry of COMMAND INFO, the entry of COMMAND DOCS.
#pragma once

#include <string_view>
#include <vector>

#include "protocol/reply_writer.h"
#include "server/command.h"

namespace iris::server {

// Ten elements; those of subcommands are nested.
void reply_with_command_info(protocol::ReplyWriter& reply, const Command& command);

// The map of one command, without its name.
void reply_with_command_docs(protocol::ReplyWriter& reply, const Command& command);

// What a command does to its keys: "RO" and "access" ...
std::vector<std::string_view> key_flags(const CommandSpec& spec);

void reply_with_words(protocol::ReplyWriter& reply, const std::vector<std::string_view>& words);

// The commands that Redis would have from the module `bf`.
bool is_bloom_module_command(const CommandSpec& spec);

}  // namespace iris::server
