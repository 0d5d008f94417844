# Long sentences of Markdown, for tools/check_sentences. POSIX awk: Debian's base system has mawk alone.

BEGIN {
  LINE = "\002"   # stands before the number of a line, as a word of its own
  BLANK = "\003"  # a blank between backquotes
  # A full stop after these ends no sentence; after the second kind it does before a capital.
  count = split("e.g. i.e. vs. cf. Fig. Figs. Eq. Eqs. Sec. Secs. No. Nos. Dr. pp. ca. approx.", word, " ")
  for (i = 1; i <= count; ++i) never[word[i]] = 1
  count = split("etc. al. resp. incl. min. max.", word, " ")
  for (i = 1; i <= count; ++i) before_capital[word[i]] = 1
}

FNR == 1 { end_paragraph(); page = FILENAME; fence = ""; item = 0; blank = 1; code = 0; comment = 0 }

# Fenced code, which may stand in an item of a list.
fence != "" { if (index(trimmed($0), fence) == 1) fence = ""; next }
/^ *(```|~~~)/ { end_paragraph(); fence = substr(trimmed($0), 1, 3); blank = 0; next }

# Comments that take whole lines.
comment { if (/-->/) comment = 0; next }
/^ *<!--/ { end_paragraph(); if (!/-->/) comment = 1; next }

/^[ \t]*$/ { end_paragraph(); blank = 1; next }

{
  text = $0
  gsub(/\t/, "    ", text)
  match(text, /^ */)
  indent = RLENGTH
  # Indented code begins after an empty line, four columns right of the text around it.
  if (indent < item) { if (blank && indent == 0) item = 0 }
  if ((blank || code) && indent >= item + 4) { code = 1; blank = 0; next }
  code = 0
  blank = 0
  text = trimmed(text)
  sub(/^(> ?)+/, "", text)
}

text ~ /^#+ / || text ~ /^\|/ || text ~ /^(---+|===+|\*\*\*+)$/ || text ~ /^<.*>$/ { end_paragraph(); next }

text ~ /^([-*+]|[0-9]+[.)]) / {
  end_paragraph()
  match(text, /^([-*+]|[0-9]+[.)]) +/)
  item = indent + RLENGTH
  text = substr(text, RLENGTH + 1)
}

{ paragraph = paragraph " " LINE FNR " " text }

END {
  end_paragraph()
  printf "%d sentence%s of more than %d words in %d file%s\n", long, long == 1 ? "" : "s", above,
    ARGC - 1, ARGC == 2 ? "" : "s"
  exit long > 0
}

function trimmed(s) { gsub(/^[ \t]+|[ \t]+$/, "", s); return s }

# Code between backquotes becomes one word.
function joined_code(s,   before, span) {
  before = ""
  while (match(s, /`[^`]+`/)) {
    span = substr(s, RSTART, RLENGTH)
    gsub(LINE "[0-9]+ ", "", span)
    gsub(/ /, BLANK, span)
    before = before substr(s, 1, RSTART - 1) span
    s = substr(s, RSTART + RLENGTH)
  }
  return before s
}

# Whether a sentence ends with a word, NEXT being the word after it.
function ends(w, next_word) {
  gsub(/[])"'*_]+$/, "", w)
  gsub(/^[[("'*_]+/, "", w)
  if (w !~ /[.!?]$/ || w ~ /\.\.$/) return 0
  if (w in never) return 0
  if (w in before_capital) return next_word ~ /^[[("'*_`]*[A-Z]/
  return 1
}

function end_paragraph(   words, n, i, j, number, line, first, counted, sentence) {
  if (paragraph == "") return
  paragraph = joined_code(paragraph)
  gsub(/\]\([^)]*\)/, "]", paragraph)
  n = split(paragraph, words, " ")
  paragraph = ""
  counted = 0
  sentence = ""
  for (i = 1; i <= n; ++i) {
    if (index(words[i], LINE) == 1) { line = substr(words[i], 2); continue }
    if (sentence == "") first = line
    sentence = sentence (sentence == "" ? "" : " ") words[i]
    if (words[i] ~ /[A-Za-z0-9]/) ++counted
    j = i + 1
    while (j <= n && index(words[j], LINE) == 1) ++j
    if (j > n || ends(words[i], words[j])) {
      report(first, counted, sentence)
      counted = 0
      sentence = ""
    }
  }
}

function report(number, counted, sentence) {
  if (counted <= above) return
  gsub(BLANK, " ", sentence)
  printf "%s:%d: %d words: %s\n", page, number, counted, sentence
  ++long
}
