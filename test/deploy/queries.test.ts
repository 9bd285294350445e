import { createRequire } from 'node:module';

import { expect, it } from 'vitest';
import { z } from 'zod';

import { codeBlocksOf, readText, sourceTexts } from '../docs/markdown.ts';
import { AZURE, declared } from './bicep-files.ts';

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
}

// It is made of scripts that leave a global.
const load = createRequire(import.meta.url);
load('@kusto/language-service-next/bridge.min.js');
load('@kusto/language-service-next/Kusto.Language.Bridge.min.js');
const { Symbols, GlobalState, KustoCode } = z
  .object({ Language: z.custom<Kusto>((value) => value !== undefined) })
  .parse(Reflect.get(globalThis, 'Kusto')).Language;
const tables = Object.entries(TABLES).map(([name, columns]) => Symbols.TableSymbol.From(columns).WithName(name));
const state = GlobalState.Default.WithDatabase(new Symbols.DatabaseSymbol.$ctor1('logs', tables));

/** Faults of a query: its syntax, an unknown column or function, a wrong type. */
const faultsOf = (query: string): readonly string[] => {
  const found = KustoCode.ParseAndAnalyze(query, state).GetDiagnostics();
  return Array.from({ length: found.Count }, (_, index) => found.getItem(index).Message);
};

const alerts = declared('modules/alerts.bicep', 'var logAlerts');
const ALERT =
  /^ {4}name: '(.*)'\n[^]*?^ {4}query: (?:'''\n([^]*?)'''|'(.*)')\n {4}operator: '(\w+)'\n {4}threshold: (\d+)\n {4}window: (.*)\n[^]*?^ {4}dimension: '(.*)'$/gm;

/** The queries of the alerts, with the column that an alert splits by, and when an alert fires. */
const alertQueries = [...alerts.matchAll(ALERT)].map(
  ([, name = '', long, short, operator, threshold, window, dimension]) => ({
    name,
    text: (long ?? short ?? '') + (dimension === '' ? '' : `| project ${dimension}`),
    fires: `${operator} ${threshold} in ${window}`,
  }),
);

const workbookQueries = z
  .object({ items: z.array(z.object({ content: z.object({ title: z.string(), query: z.string() }).partial() })) })
  .parse(JSON.parse(readText(`${AZURE}workbook.json`)))
  .items.flatMap(({ content: { title = '', query } }) => (query === undefined ? [] : [{ name: title, text: query }]));

/** The queries of the page: empty lines separate the queries of a block, and a comment names each. */
const pageQueries = codeBlocksOf(`${AZURE}operate.md`, 'kusto')
  .flatMap((block) => block.split('\n\n'))
  .map((text) => ({ name: text.split('\n')[0] ?? '', text: text.replace(/^\/\/ .*\n/, '') }));

const queries = [...alertQueries, ...workbookQueries, ...pageQueries];

it.each(queries)('$name: the query is valid', ({ text }) => {
  expect(faultsOf(text)).toEqual([]);
});

it('every alert has a query, and no alert asks for sampled tables: outsiders can cause requests and exceptions', () => {
  expect(faultsOf('traces | where mesage == "x"').join()).toContain("'mesage'");
  expect(alertQueries).toHaveLength([...alerts.matchAll(/^ {4}query: /gm)].length);
  expect(alertQueries.filter(({ text }) => /\b(requests|exceptions)\b/.test(text))).toEqual([]);
});

it('each alert fires for the lines of its cause', () => {
  const causes = alertQueries.map(({ name, fires, text }) => {
    const texts = [...text.matchAll(/"([^"]{2,})"/g)].map(([, one]) => one);
    return [name, `${fires}: ${texts.join(', ')}`];
  });
  expect(Object.fromEntries(causes)).toEqual({
    'failed-requests':
      "GreaterThan 5 in 'PT5M': storage unavailable, unexpected error, stored row damaged, stored row of a later format",
    'unexpected-errors': "GreaterThan 0 in 'PT5M': unexpected error",
    'bodies-lost': "GreaterThan 0 in 'PT5M': body did not arrive",
    'app-restarted': "GreaterThan 0 in 'PT1H': app started",
    'backup-missing': "GreaterThan 0 in 'PT15M': day not backed up, events not backed up, backup has fewer events",
    'backups-stopped': "GreaterThan 0 in 'P1D': backups looked after",
    'table-deleted': "GreaterThan 0 in 'PT15M': DeleteTable",
    'damaged-rows': "GreaterThan 0 in 'PT5M': stored row damaged, day not closed, DamagedRow",
    'rows-of-a-later-release': "GreaterThan 0 in 'PT5M': stored row of a later format, day not closed, LaterFormat",
    'clock-off': "GreaterThan 0 in 'PT5M': clock is off",
    'failed-calls':
      "GreaterThan 0 in 'PT5M': message not played, speech not available, hang-up failed, call overdue, callback events left, " +
      'call forbidden, calls not accepted, notification not written, call not placed, unexpected error, no line free, no token for the phone service, unreachable',
    'not-reached':
      "GreaterThan 0 in 'PT5M': recipient not reached, notification not confirmed, urgent notification silent",
    'daily-call-limit': "GreaterThan 0 in 'PT5M': day limit reached",
    'calls-without-table': "GreaterThan 0 in 'PT5M': call records unreachable, due work unreachable",
    'phone-service-not-usable': "GreaterThan 0 in 'PT5M': phone service not usable",
    'calls-late': "GreaterThan 0 in 'PT5M': call is late",
    'calls-not-checked': "LessThan 1 in 'PT15M': calls checked",
    'close-days-stopped': "LessThan 1 in 'P1D': Executed 'Functions.CloseDays' (Succeeded",
    'counts-not-moving': "LessThan 1 in alertWhenQuietFor == 'never' ? 'PT30M' : alertWhenQuietFor: events recorded",
    'log-cap-reached': "GreaterThan 0 in 'PT15M': Ingestion, OverQuota",
  });
  // Events that are sent again count as a silence.
  expect(alertQueries.find(({ name }) => name === 'counts-not-moving')?.text).toContain('tolong(line.recorded) > 0');
});

const sources = sourceTexts();

/** The names that a pattern finds in the queries. */
const namesIn = (pattern: RegExp): readonly string[] =>
  queries.flatMap(({ text }) => [...text.matchAll(pattern)].flatMap(([, name]) => name ?? []));

/** The texts that the queries compare a column with. */
const comparedWith = (column: string): readonly string[] =>
  namesIn(new RegExp(`\\b${column}\\)? (?:==|!=|in|!in) \\(?((?:"[^"]+"(?:, )?)+)`, 'g')).flatMap((texts) =>
    texts.split(', ').map((text) => text.replaceAll('"', '')),
  );

const isField = (name: string): boolean => new RegExp(`\\b${name}\\b *[,:}]`).test(sources);

it.each<[string, readonly string[], number, (name: string) => boolean]>([
  ['log events', comparedWith('event'), 20, (name) => sources.includes(`'${name}'`)],
  ['fields of log lines', namesIn(/\bline\.(\w+)/g), 20, (name) => /^[a-z_]+$/.test(name) && isField(name)],
  ['reasons', comparedWith('reason'), 3, (name) => sources.includes(`'${name}'`)],
  ['kinds of errors', comparedWith('kind'), 1, (name) => sources.includes(`class ${name} `)],
  ['timers', namesIn(/'Functions\.(\w+)'/g), 1, (name) => sources.includes(`timer('${name}'`)],
])('the queries ask for %s that the code has', (_, names, least, isInCode) => {
  expect(names.length).toBeGreaterThanOrEqual(least);
  expect(names.filter((name) => !isInCode(name))).toEqual([]);
});
