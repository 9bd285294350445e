import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));
const read = (path: string): string => readFileSync(`${root}${path}`, 'utf8');

const sources = readdirSync(`${root}src`, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts'))
  .map((path) => read(`src/${path}`))
  .join('\n');

/** The names of log events that a text asks for in KQL. */
const eventsAskedFor = (text: string): readonly string[] =>
  [...text.matchAll(/\.event\)? (?:==|in) \(?((?:"[^"]+"(?:, )?)+)/g)].flatMap(([, names = '']) =>
    [...names.matchAll(/"([^"]+)"/g)].flatMap(([, name]) => name ?? []),
  );

describe.each(['infra/azure/modules/alerts.bicep', 'infra/azure/README.md'])('%s', (path) => {
  it('asks for log events that the code writes', () => {
    const asked = eventsAskedFor(read(path));
    expect(asked.length).toBeGreaterThan(0);
    expect(asked.filter((name) => !sources.includes(`'${name}'`))).toEqual([]);
  });
});

describe('the alert about counts that do not move', () => {
  it('asks for a field that the line has', () => {
    expect(read('infra/azure/modules/alerts.bicep')).toContain('tolong(line.recorded)');
    expect(sources).toMatch(/info\('events recorded', \{ \.\.\.counts/);
    expect(sources).toMatch(/const counts = \{\s+recorded:/);
  });
});
