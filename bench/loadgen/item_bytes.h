// From an item's number to its bytes, of a width that is the same for all items of a run: so a
// request is rendered once and only these bytes change.
//
// As text: decimal digits with leading zeros. As binary: bytes of any value, line ends and zeros
// among them. Both are one to one while the number fits the width.
#pragma once

#include <cstddef>
#include <cstdint>

namespace iris::loadgen {

void write_decimal(char* at, size_t width, uint64_t number);
void write_binary(char* at, size_t width, uint64_t number);

// How many different items a width allows; 2^64 - 1 stands for all that are more.
uint64_t decimal_items(size_t width);
uint64_t binary_items(size_t width);

// Digits that write `number`, 1 for 0.
size_t decimal_width(uint64_t number);

}  // namespace iris::loadgen
