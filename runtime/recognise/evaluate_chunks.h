#pragma once

#include <cstdint>

#include "runtime/recognise/audio_chunks.h"
#include "runtime/trainer/evaluation.h"

namespace penstock::runtime {

/// How chunks are heard and their frames decoded.
struct ChunkedEvaluation {
  Session& session;
  const AudioChunks& chunks;
  const Tokenizer& tokenizer;
  const EvaluationOptions& whole;   // for recordings that are not cut
  const EvaluationOptions& joined;  // for the joined frames, of which only CTC's logits are left
  std::int64_t first_channel = 0;   // at which CTC's logits begin in what enters the last layer
};

/// Evaluates a corpus as runtime::evaluate() does, by CTC, but hears recordings that are longer
/// than a chunk in chunks. Their frames are joined on the rank of the last stage of the first
/// replica, in a scratch file, and decoded, timed and scored as those of one utterance. The loss is
/// that of the other recordings. All ranks call it, with a corpus that is not empty.
[[nodiscard]] Evaluation evaluate_chunks(const Corpus& corpus, const ChunkedEvaluation& how);

/// Returns the lengths of what is heard at once: of chunks, and of recordings that are not cut.
[[nodiscard]] Lengths heard_lengths(const Lengths& recordings, const AudioChunks& chunks);

}  // namespace penstock::runtime
