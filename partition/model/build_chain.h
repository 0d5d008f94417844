#pragma once

#include <string>

#include "configs/config.h"
#include "partition/model/chain.h"

namespace penstock {

/// The chain of a model with `labels` labels, blank included. ConfigError lists every key of
/// [model] with an impossible value and what it takes.
Chain build_chain(const ModelConfig& model, int labels);

/// Everything that the chain follows from, on one line: "kind=deepspeech2 features=161 …
/// labels=29". Equal for equal chains.
std::string model_summary(const ModelConfig& model, int labels);

}  // namespace penstock
