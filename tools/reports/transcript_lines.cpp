#include "tools/reports/transcript_lines.h"

#include <nlohmann/json.hpp>

#include "tools/cli/json_line.h"

namespace penstock::tools {

std::string transcript_line(const runtime::Transcript& transcript) {
  nlohmann::ordered_json line{{"audio_filepath", transcript.recording.audio.string()}};
  if (transcript.recording.segment) line["offset"] = transcript.recording.segment->offset;
  if (transcript.seconds > 0) line["duration"] = transcript.seconds;
  if (transcript.fault.empty())
    line["text"] = transcript.text;
  else
    line["error"] = transcript.fault;
  return json_line(line);
}

std::string judged_line(const runtime::JudgedUtterance& utterance, const runtime::TestSet& test) {
  const runtime::AudioSource& source = utterance.source;
  nlohmann::ordered_json line;
  if (test.manifests.size() > 1) line["manifest"] = test.manifests.at(utterance.manifest);
  line["audio_filepath"] = source.audio.string();
  if (source.first) line["offset"] = static_cast<double>(*source.first) / source.length.rate;
  line["duration"] = source.length.seconds();
  nlohmann::ordered_json values;
  for (std::size_t f = 0; f < utterance.values.size(); ++f)
    values[test.by.at(f)] = utterance.values[f];
  if (!values.empty()) line["by"] = values;
  const runtime::Recognised& r = utterance.recognised;
  if (!r.fault.empty()) {
    line["error"] = r.fault;
    return json_line(line);
  }
  line["reference"] = r.reference;
  line["hypothesis"] = r.text;
  line["word_edits"] = r.errors.words.edits;
  line["words"] = r.errors.words.reference;
  line["character_edits"] = r.errors.characters.edits;
  line["characters"] = r.errors.characters.reference;
  return json_line(line);
}

}  // namespace penstock::tools
