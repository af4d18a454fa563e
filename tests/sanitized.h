// Whether a sanitizer watches this build. It listens to memory and threads, not to coverage of
// cases, and slows everything down: there the tests do fewer rounds, and do not measure memory.
#pragma once

namespace iris {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace iris
