// Splits an inline request, as typed in telnet, into its arguments:
//
//   BF.ADD "my filter" 'it\'s' "\x00\xff\n"
//
// Words are separated by blanks. Inside double quotes \xHH, \n, \r, \t, \b, \a stand for their
// bytes and any other escaped byte for itself; inside single quotes only \' is special. A closing
// quote ends its argument: a blank or the end of the line must follow.
#pragma once

#include "protocol/args.h"

namespace iris::protocol {

// Appends the arguments of [begin, end), a line without its end, to `args`. They are unescaped in
// place, over the bytes they came from, and are views of them. False when the quotes do not match;
// `args` may then have got some arguments, and the line is spoilt.
[[nodiscard]] bool split_inline_request(char* begin, char* end, Args& args);

}  // namespace iris::protocol
