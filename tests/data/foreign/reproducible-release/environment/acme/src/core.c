#include "core.h"

int core_version(void) { return 271; }
