#pragma once

#include "comm/link_speeds.h"  // for tools, which reach comm by way of runtime alone
