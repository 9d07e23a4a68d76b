// NVRTC knows `assert` from the start; C has it empty where NDEBUG was defined before this line.
#undef assert
#ifdef NDEBUG
#define assert(condition) ((void)0)
#else
#define assert(condition)                                                                                         \
    ((condition) ? static_cast<void>(0)                                                                           \
                 : __assertfail(#condition, __FILE__, __LINE__, __PRETTY_FUNCTION__, sizeof(char)))
#endif
