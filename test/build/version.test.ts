import { expect, it } from 'vitest';

import { VERSION } from '../../src/version.ts';
import { readText } from '../docs/markdown.ts';
import { loadBundle } from '../harness/bundled.ts';

it('the version is the same in package.json, in the description of the API and in the newest release of CHANGELOG.md', () => {
  expect(JSON.parse(readText('package.json'))).toMatchObject({ version: VERSION });
  expect(loadBundle('release').description['info']).toMatchObject({ version: VERSION });
  const [newest] = [...readText('CHANGELOG.md').matchAll(/^## \[(\d+\.\d+\.\d+)\] - \d{4}-\d\d-\d\d$/gm)].map(
    ([, name]) => name,
  );
  expect(newest).toBe(VERSION);
});
