import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';

import { alertQueries, objectionsTo, type Query, readmeQueries, workbookQueries } from './kql.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const sources = readdirSync(`${root}src`, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts'))
  .map((path) => readFileSync(`${root}src/${path}`, 'utf8'))
  .join('\n');

const isInSources = (text: string): boolean => sources.includes(`'${text}'`);
const isError = (name: string): boolean => sources.includes(`class ${name} `);
const isField = (name: string): boolean => new RegExp(`\\b${name}\\b *[,:}]`).test(sources);
const isTimer = (name: string): boolean => sources.includes(`app.timer('${name}'`);

/** What a query compares a column with: the names of log events, for the column `event`. */
const comparedIn = ({ text: query }: Query, column: string): readonly string[] =>
  [...query.matchAll(new RegExp(`\\b${column}\\)? (?:==|!=|in|!in) \\(?((?:"[^"]+"(?:, )?)+)`, 'g'))].flatMap(
    ([, texts = '']) => [...texts.matchAll(/"([^"]+)"/g)].flatMap(([, text]) => text ?? ''),
  );

/** A query on one line. */
const plain = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();

/** The fields of log lines that a query reads. */
const fieldsIn = ({ text }: Query): readonly string[] =>
  [...text.matchAll(/\bline\.(\w+)/g)].flatMap(([, name]) => name ?? []);

const places: readonly (readonly [place: string, queries: readonly Query[]])[] = [
  ['the alerts', alertQueries()],
  ['the workbook', workbookQueries()],
  ['infra/azure/README.md', readmeQueries()],
];

describe.each(places)('%s', (_, queries) => {
  it.each(queries.map((query) => [query.name, query] as const))('%s: the query is one', (_name, { text }) => {
    expect(objectionsTo(text)).toEqual([]);
  });

  it('ask for log events and fields that the code writes', () => {
    const events = queries.flatMap((query) => comparedIn(query, 'event'));
    expect(events.length).toBeGreaterThan(0);
    expect(events.filter((name) => !isInSources(name))).toEqual([]);
    const fields = queries.flatMap(fieldsIn);
    expect(fields.length).toBeGreaterThan(0);
    expect(fields.filter((name) => !isField(name))).toEqual([]);
  });

  it('compare with reasons and kinds of errors that the code has', () => {
    expect(queries.flatMap((query) => comparedIn(query, 'reason')).filter((reason) => !isInSources(reason))).toEqual(
      [],
    );
    expect(queries.flatMap((query) => comparedIn(query, 'kind')).filter((kind) => !isError(kind))).toEqual([]);
  });

  it('ask for timers that the code has', () => {
    const timers = queries.flatMap(({ text }) => /'Functions\.(\w+)'/.exec(text)?.[1] ?? []);
    expect(timers.filter((name) => !isTimer(name))).toEqual([]);
  });
});

it.each([
  ['traces | wher message == "x"', /operator expected/],
  ['traces | where mesage == "x"', /'mesage'/],
  ['traces | where parse_jsn(message).event == "x"', /'parse_jsn'/],
  ['request | where success', /'request'/],
  ['traces | summarize sum(message)', /summable/],
])('%s is objected to', (query, objection) => {
  expect(objectionsTo(query).join('\n')).toMatch(objection);
});

it('every alert has a query, and a dimension only where the query has the column', () => {
  const bicep = readFileSync(`${root}infra/azure/modules/alerts.bicep`, 'utf8');
  expect(alertQueries()).toHaveLength([...bicep.matchAll(/^ {4}query: /gm)].length);
  const rules = bicep.split(/^ {4}name: /m).slice(1);
  for (const { name, text } of alertQueries()) {
    const dimension = /dimension: '(\w*)'/.exec(rules.find((rule) => rule.startsWith(`'${name}'`)) ?? '')?.[1];
    expect(dimension, name).toBeDefined();
    expect(objectionsTo(dimension === '' ? text : `${text} | project ${dimension}`)).toEqual([]);
  }
});

it('what needs no value in the README is in the workbook, and nothing else', () => {
  expect(workbookQueries().map(({ text }) => plain(text))).toEqual(
    readmeQueries()
      .map(({ text }) => plain(text))
      .filter((text) => !text.includes('<')),
  );
});

it('finds what a query compares with, in each way that the queries do', () => {
  const failed = alertQueries().find(({ name }) => name === 'failed-calls');
  const damaged = alertQueries().find(({ name }) => name === 'damaged-rows');
  if (failed === undefined || damaged === undefined) throw new Error('an alert is missing');
  expect(comparedIn(failed, 'event')).toEqual(expect.arrayContaining(['call not placed', 'no line free']));
  expect(comparedIn(failed, 'reason')).toHaveLength(3);
  expect(comparedIn(damaged, 'kind')).toEqual(['DamagedRow']);
});
