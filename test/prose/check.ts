/** Part of `npm run check`: rejects long sentences and the habits of `rules.ts` in all pages, and in comments. */
import { globSync, readFileSync } from 'node:fs';

import { faultsOf } from './rules.ts';
import { type Sentence, sentencesOf, sentencesOfComments } from './sentences.ts';

/** The sources whose comments are held to the rules. */
const COMMENTS = [
  'src/*.ts',
  'src/{settings,storage,azure,http,analytics}/**/*.ts',
  'src/calls/**/*.ts',
  'infra/**/*.ts',
  'infra/clients/*.mjs',
  'bench/**/*.ts',
  '{src,test}/dashboard/**/*.{ts,tsx}',
  'test/{worlds,stories}/calls/*.ts',
  'test/mutants/*.ts',
  'test/calls/{*.ts,{model,rules,run,state,store}/*.ts}',
  'test/{analytics,storage,fixtures}/**/*.ts',
  'test/worlds/*.ts',
  'test/{worlds,stories}/counting/*.ts',
  'test/{http,harness,cli,docs,deploy,build,emulators}/**/*.ts',
  'test/*.test.ts',
];

const NOT_OURS = ['**/node_modules/**', 'dist/**', 'package/**', 'coverage/**'];

const checked = (pattern: string, read: (text: string) => readonly Sentence[]): readonly string[] =>
  globSync(pattern, { exclude: NOT_OURS })
    .toSorted()
    .flatMap((path) =>
      read(readFileSync(path, 'utf8')).flatMap(({ text, words, line }) =>
        faultsOf(text, words).map((fault) => `${path}:${line}: ${fault}\n    ${text}`),
      ),
    );

const faults = [
  ...checked('**/*.md', sentencesOf),
  ...COMMENTS.flatMap((pattern) => checked(pattern, sentencesOfComments)),
];
for (const fault of faults) console.error(fault);
if (faults.length > 0) {
  console.error(`\n${faults.length} faults of wording. CONTRIBUTING.md has the style of the text.`);
  process.exitCode = 1;
}
