import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Patterns of secrets and personal data that no log line may hold, and of a warning about a lost line. */
const FORBIDDEN: Readonly<Record<string, RegExp>> = {
  'a whole phone number': /\+[1-9]\d{6,14}(?!\d)/,
  'a connection string': /accesskey=|accountkey=|sharedaccesssignature=/i,
  // 32 bytes, as ACS's keys have, or 64, as storage keys have.
  'a key': /(?<![\w+/])(?:[\w+/]{43}=|[\w+/]{86}==)/,
  'a token': /Bearer |\beyJ[\w-]{10}/,
  // The library warns of it. The app of the host's own test logs it on purpose.
  'a line for an invocation that is over, which Azure ignores': /^Warning: Unexpected call to 'log'(?!.*logs-late)/,
};

/**
 * Looks for keys, tokens, phone numbers and lost lines in everything that the apps of a run have printed.
 *
 * @param directory holds one file per app
 * @throws {Error} that names each finding, its file and line, and how the line begins
 */
export const demandCleanLogs = (directory: string): void => {
  const lines = readdirSync(directory).flatMap((file) =>
    readFileSync(join(directory, file), 'utf8')
      .split('\n')
      .map((text, index) => ({ text, where: `in line ${index + 1} of ${file}: ${text.slice(0, 60)}` })),
  );
  const found = Object.entries(FORBIDDEN).flatMap(([what, pattern]) =>
    lines.filter(({ text }) => pattern.test(text)).map(({ where }) => `${what} ${where}`),
  );
  if (found.length > 0) throw new Error(`The apps have logged what they must not:\n${found.join('\n')}`);
};
