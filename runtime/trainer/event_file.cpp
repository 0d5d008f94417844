#include "runtime/trainer/event_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <sstream>
#include <system_error>

#include "runtime/devices/rank_info.h"
#include "runtime/trainer/metric_record.h"

namespace penstock::runtime {
namespace {

constexpr std::string_view kEventsPrefix = "events.out.tfevents.";

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// Returns the seconds in a file's name; 0 if there are none.
std::int64_t seconds_in_name(const std::filesystem::path& file) {
  std::int64_t seconds = 0;
  std::istringstream(file.filename().string().substr(kEventsPrefix.size())) >> seconds;
  return seconds;
}

// TensorBoard reads the files of a folder in the order of their names. So the seconds in a new name
// are more than those in earlier ones, even if starts are less than a second apart or the clock was
// put back.
std::filesystem::path next_name(const std::filesystem::path& folder) {
  auto seconds = static_cast<std::int64_t>(seconds_now());
  for (const std::filesystem::path& file : list_event_files(folder))
    seconds = std::max(seconds, seconds_in_name(file) + 1);
  return folder /
         fmt::format("{}{:010}.{}.{}.0", kEventsPrefix, seconds, machine_name(), ::getpid());
}

/// Returns text as a block of code in Markdown.
std::string code_block(const std::string& text) {
  std::string block;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) block += "    " + line + '\n';
  return block;
}

/// Returns an event with all numbers of a report.
template <class Report>
std::string event_of_report(const Report& report) {
  return scalar_event({seconds_now(), report.step}, metric_scalars(report));
}

}  // namespace

// The mark of a restart comes first, since it also drops what this file has before it. What the
// recipe's text has for a step is what later steps are trained with.
EventFile::EventFile(const std::filesystem::path& folder, const EventStart& start,
                     AppendedFile::Note note)
    : file_(next_name(folder), O_CREAT | O_EXCL, "events", std::move(note)) {
  const EventMoment first{seconds_now(), start.last_step + 1};
  append(version_event(first.seconds));
  append(restart_event(first));
  if (!start.recipe.empty()) append(text_event(first, "recipe", code_block(start.recipe)));
}

void EventFile::write(const StepReport& report) { append(event_of_report(report)); }

void EventFile::write(const EvaluationReport& report) { append(event_of_report(report)); }

std::vector<std::filesystem::path> list_event_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    if (entry->path().filename().string().starts_with(kEventsPrefix) && entry->is_regular_file())
      files.push_back(entry->path());
  if (error)
    throw FileError(folder, fmt::format("{}: can't be read: {}", folder.string(), error.message()),
                    static_cast<std::errc>(error.value()));
  std::ranges::sort(files);
  return files;
}

}  // namespace penstock::runtime
