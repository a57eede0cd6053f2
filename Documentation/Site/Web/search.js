"use strict";
// Ranks the entries of the index, which build.py writes: [title, address, kind, context, text].

/** The words of a name or a query: at signs of case and punctuation, in lower case, and the whole word. */
function wordsOf(text) {
  const words = [];
  for (const whole of text.match(/[\p{L}\p{N}_]+/gu) || []) {
    words.push(whole.toLowerCase());
    const parts = whole.match(/\p{Lu}+(?=\p{Lu}\p{Ll})|\p{Lu}?\p{Ll}+|\p{Lu}+|\p{N}+/gu) || [];
    if (parts.length > 1) words.push(...parts.map(part => part.toLowerCase()));
  }
  return words;
}

/** Adds to each entry what a query compares with: once, since names don't change. */
function prepareIndex(entries) {
  return entries.map(([title, address, kind, context, text]) => ({
    title, address, kind, context, text, name: title.toLowerCase(), words: wordsOf(title), contextWords: wordsOf(context), lowerText: text.toLowerCase()
  }));
}

/** The score of one word of a query in an entry; 0 if the entry doesn't have it, and at least 25 if its title has it. */
function scoreOf(word, entry) {
  if (entry.name.startsWith(word)) return 60;
  if (entry.words.includes(word)) return 50;
  if (entry.words.some(other => other.startsWith(word))) return 40;
  if (word.length > 2 && entry.name.includes(word)) return 25;
  if (entry.contextWords.some(other => other.startsWith(word))) return 15;
  const place = entry.lowerText.indexOf(word);
  if (place < 0) return 0;
  // Words of a text count from their beginning: "ion" isn't a word of "version".
  for (let at = place; at >= 0; at = entry.lowerText.indexOf(word, at + 1)) {
    if (at === 0 || !/[\p{L}\p{N}_]/u.test(entry.lowerText[at - 1])) return 6;
  }
  return 0;
}

const kindBonus = { Guide: 8, Problem: 8, Class: 8, Structure: 8, Protocol: 8, Enumeration: 8, Framework: 8, Decision: -6, Change: -10 };

// Words of questions, which say nothing of the page.
const emptyWords = new Set("a an and are at by can do does for from how i if in is it my of on or the to what when where which why with".split(" "));

/** The words of a query, without words of questions unless there are no others. */
function queryWords(query) {
  const words = [...new Set(query.toLowerCase().match(/[\p{L}\p{N}_]+/gu) || [])];
  const full = words.filter(word => !emptyWords.has(word));
  return full.length ? full : words;
}

/** The best entries, each with all words of the query. */
function searchEntries(index, query, limit = 20) {
  const words = queryWords(query);
  if (!words.length) return [];
  const exact = query.trim().toLowerCase();
  const isCall = exact.includes("(");
  const found = [];
  for (const [position, entry] of index.entries()) {
    const parts = words.map(word => scoreOf(word, entry));
    if (parts.includes(0)) continue;
    let score = parts.reduce((sum, part) => sum + part, 0) / words.length;
    if (parts.every(part => part >= 25)) score += 25;
    const bonus = kindBonus[entry.kind] || 0;
    // A word such as "share" begins the names of many members, and guides explain it.
    if (!bonus && words.length === 1 && !isCall) score -= 15;
    if (isCall && entry.name.startsWith(exact)) score += 60;
    score += bonus - Math.min(entry.title.length, 60) / 20;
    // A section comes after its page, and after a type of its name.
    if (entry.context && entry.kind === "Guide") score -= 4;
    if (entry.name === exact || entry.name.startsWith(exact + "(")) score += bonus > 0 ? 20 : 5;
    found.push({ entry, score, position });
  }
  found.sort((a, b) => b.score - a.score || a.position - b.position);
  return found.slice(0, limit).map(({ entry }) => entry);
}

/** A piece of an entry's text around the first word of the query that it has. */
function excerptOf(entry, query, length = 120) {
  const words = queryWords(query);
  const places = words.map(word => entry.lowerText.indexOf(word)).filter(place => place >= 0);
  let start = Math.max(0, Math.min(...places, entry.text.length) - length / 3);
  if (!places.length || entry.text.length <= length) start = 0;
  if (start > 0) start = entry.text.indexOf(" ", start) + 1;
  const piece = entry.text.slice(start, start + length);
  return (start > 0 ? "… " : "") + piece + (start + length < entry.text.length ? " …" : "");
}
