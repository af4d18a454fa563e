#include <cstdio>

#include "server/version.h"

int main() {
  std::printf("iris-server %s\n", iris::server::kVersion);
}
