// LOLWUT: the version, and something to look at. In Redis every version draws another picture; here
// it is always an iris.

#include <string>

#include "server/call.h"
#include "server/commands/families.h"
#include "server/version.h"

namespace iris::server {

namespace {

constexpr std::string_view kIris = R"(
               .
              / \
         .-. /   \ .-.
        /   \\ | //   \
        \    \\|//    /
     .---`-.  \|/  .-'---.
    (   ~ ~ `~.|.~' ~ ~   )
     `-.__.-~ /|\ ~-.__.-'
        |   /~\|/~\   |
         \ (   |   ) /
          ' \  |  / '
             `-|-'
          \    |
           \   |    /
          | \  |   / |
           \ \ |  / /
            \ \| / /
             \ |/ /
              \|/
)";

// VERSION n would choose the picture of that version.
void lolwut(Call& call) {
  std::string text(kIris);
  text += "\nIris ver. " + std::string(kVersion) + " (as Redis ver. " + kRedisVersion + ")\n";
  call.reply.verbatim("txt", text);
}

const CommandSpec kCommands[] = {
    {"lolwut",
     -1,
     kReadonly | kFast,
     {},
     "server",
     "5.0.0",
     "O(1)",
     "Draws an iris and tells the version",
     "[VERSION version:integer]",
     lolwut},
};

}  // namespace

std::span<const CommandSpec> admin_lolwut_commands() {
  return kCommands;
}

}  // namespace iris::server
