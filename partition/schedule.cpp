#include "partition/schedule.h"
