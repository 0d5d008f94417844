#include "runtime/rank.h"
