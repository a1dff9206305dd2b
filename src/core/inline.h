/* INLINE: functions of kernels, inlined by force. Sanitizers instrument every load, and a fully inlined kernel then takes minutes to
 * compile: with them, the compiler decides. */
#ifndef PELT_CORE_INLINE_H
#define PELT_CORE_INLINE_H

#ifdef __has_feature
#if __has_feature(address_sanitizer) || __has_feature(undefined_behavior_sanitizer) || __has_feature(thread_sanitizer)
#define INLINE static inline __attribute__((unused))
#endif
#endif
#ifndef INLINE
#define INLINE static inline __attribute__((always_inline))
#endif

#endif
