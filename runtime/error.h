#pragma once

// Every typed error that a user of the runtime may meet.
#include "configs/config.h"
#include "layers/tensor/error.h"
