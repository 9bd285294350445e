import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

import { expect, it } from 'vitest';
import { z } from 'zod';

import { BICEP_FOLDER, bicepFile, descendants, propertiesOf } from './bicep-files.ts';

interface Query {
  readonly name: string;
  readonly text: string;
  /** The column that an alert splits by; empty: none. */
  readonly dimension?: string | undefined;
}

/** The columns that the queries may use. The tables of Application Insights have more. */
const TABLES: Readonly<Record<string, string>> = {
  traces:
    '(timestamp: datetime, message: string, severityLevel: int, operation_Name: string, cloud_RoleInstance: string, _BilledSize: real)',
  requests:
    '(timestamp: datetime, id: string, name: string, url: string, success: bool, resultCode: string, duration: real, operation_Name: string, itemCount: int, _BilledSize: real)',
  exceptions: '(timestamp: datetime, type: string, outerMessage: string, operation_Name: string, _BilledSize: real)',
  StorageTableLogs:
    '(TimeGenerated: datetime, OperationName: string, StatusCode: string, Uri: string, CallerIpAddress: string)',
  _LogOperation: '(TimeGenerated: datetime, Category: string, Operation: string, Level: string, Detail: string)',
};

/** The used parts of Microsoft's own language service for queries, which the portal uses as well. */
interface Kusto {
  readonly Language: {
    readonly Symbols: {
      readonly TableSymbol: { From(columns: string): { WithName(name: string): unknown } };
      readonly DatabaseSymbol: { readonly $ctor1: new (name: string, tables: readonly unknown[]) => unknown };
    };
    readonly GlobalState: { readonly Default: { WithDatabase(database: unknown): unknown } };
    readonly KustoCode: {
      ParseAndAnalyze(
        query: string,
        state: unknown,
      ): { GetDiagnostics(): { readonly Count: number; getItem(index: number): { readonly Message: string } } };
    };
  };
}

// It is made of scripts that leave a global.
const load = createRequire(import.meta.url);
load('@kusto/language-service-next/bridge.min.js');
load('@kusto/language-service-next/Kusto.Language.Bridge.min.js');
const { Language } = z.custom<Kusto>((value) => value !== undefined).parse(Reflect.get(globalThis, 'Kusto'));
const state = Language.GlobalState.Default.WithDatabase(
  new Language.Symbols.DatabaseSymbol.$ctor1(
    'logs',
    Object.entries(TABLES).map(([name, columns]) => Language.Symbols.TableSymbol.From(columns).WithName(name)),
  ),
);

/** Faults of a query: its syntax, an unknown column or function, a wrong type. */
const objectionsTo = (query: string): readonly string[] => {
  const found = Language.KustoCode.ParseAndAnalyze(query, state).GetDiagnostics();
  return Array.from({ length: found.Count }, (_, index) => found.getItem(index).Message);
};

const alerts = bicepFile('modules/alerts.bicep');

/** The queries of the alerts. */
const alertQueries: readonly Query[] = descendants(alerts.root)
  .filter(({ type }) => type === 'object')
  .map((object) => new Map(propertiesOf(object).map(({ key, value }) => [key, value.text.replaceAll(/^'+|'+$/g, '')])))
  .flatMap((rule) => {
    const [name, text, dimension] = ['name', 'query', 'dimension'].map((key) => rule.get(key));
    // An object without a dimension is the resource of all rules, with the properties of one rule.
    return name === undefined || text === undefined || dimension === undefined ? [] : [{ name, text, dimension }];
  });

const workbookSchema = z.object({
  items: z.array(z.object({ content: z.object({ title: z.string().default(''), query: z.string().optional() }) })),
});

const workbookQueries: readonly Query[] = workbookSchema
  .parse(JSON.parse(readFileSync(new URL('workbook.json', BICEP_FOLDER), 'utf8')))
  .items.flatMap(({ content: { title, query } }) => (query === undefined ? [] : [{ name: title, text: query }]));

/** The queries of infra/azure/README.md: empty lines separate the queries of a block, and a comment names each. */
const readmeQueries: readonly Query[] = [
  ...readFileSync(new URL('README.md', BICEP_FOLDER), 'utf8').matchAll(/```kusto\n(.*?)```/gs),
].flatMap(([, block = '']) =>
  block
    .trim()
    .split('\n\n')
    .map((text) => ({ name: /^\/\/ (.*)\n/.exec(text)?.[1] ?? '', text: text.replace(/^\/\/ .*\n/, '') })),
);

const queries = [...alertQueries, ...workbookQueries, ...readmeQueries];

it.each(queries)('$name: the query is one', ({ text, dimension = '' }) => {
  expect(objectionsTo(dimension === '' ? text : `${text} | project ${dimension}`)).toEqual([]);
});

it.each([
  ['traces | where mesage == "x"', /'mesage'/],
  ['request | where success', /'request'/],
])('%s is objected to', (query, objection) => {
  expect(objectionsTo(query).join('\n')).toMatch(objection);
});

it('every alert has a query, and no alert asks for sampled tables: outsiders can cause requests and exceptions', () => {
  expect(alertQueries).toHaveLength([...alerts.text.matchAll(/^ {4}query: /gm)].length);
  expect(alertQueries.filter(({ text }) => /\b(requests|exceptions)\b/.test(text))).toEqual([]);
});

const root = new URL('../../src/', import.meta.url);
const sources = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts'))
  .map((path) => readFileSync(new URL(path, root), 'utf8'))
  .join('\n');

/** The texts that the queries compare a column with. */
const comparedWith = (column: string): readonly string[] =>
  queries.flatMap(({ text }) =>
    [...text.matchAll(new RegExp(`\\b${column}\\)? (?:==|!=|in|!in) \\(?((?:"[^"]+"(?:, )?)+)`, 'g'))].flatMap(
      ([, texts = '']) => [...texts.matchAll(/"([^"]+)"/g)].flatMap(([, name]) => name ?? ''),
    ),
  );

const namesIn = (form: RegExp): readonly string[] =>
  queries.flatMap(({ text }) => [...text.matchAll(form)].flatMap(([, name]) => name ?? []));

it.each<[string, readonly string[], number, (name: string) => boolean]>([
  ['log events', comparedWith('event'), 20, (name) => sources.includes(`'${name}'`)],
  ['fields of log lines', namesIn(/\bline\.(\w+)/g), 20, (name) => new RegExp(`\\b${name}\\b *[,:}]`).test(sources)],
  ['reasons', comparedWith('reason'), 3, (name) => sources.includes(`'${name}'`)],
  ['kinds of errors', comparedWith('kind'), 1, (name) => sources.includes(`class ${name} `)],
  ['timers', namesIn(/'Functions\.(\w+)'/g), 1, (name) => sources.includes(`timer('${name}'`)],
])('the queries ask for %s that the code has', (_, names, least, isInCode) => {
  expect(names.length).toBeGreaterThanOrEqual(least);
  expect(names.filter((name) => !isInCode(name))).toEqual([]);
});

it('queries that need a value are in the README, all others in the workbook', () => {
  expect(readmeQueries.filter(({ text }) => !text.includes('"<'))).toEqual([]);
  expect(workbookQueries.filter(({ text }) => text.includes('"<'))).toEqual([]);
  expect(readmeQueries.length).toBeGreaterThan(1);
  expect(workbookQueries.length).toBeGreaterThan(8);
});
