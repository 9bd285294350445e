import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

import { z } from 'zod';

import { BICEP_FOLDER, bicepFile, descendants, propertiesOf } from './bicep-files.ts';

/** A query, and where it is. */
export interface Query {
  readonly name: string;
  readonly text: string;
}

/** The columns that the queries may use. The tables of Application Insights have more. */
const TABLES: Readonly<Record<string, string>> = {
  traces:
    '(timestamp: datetime, message: string, severityLevel: int, operation_Name: string, cloud_RoleInstance: string, _BilledSize: real)',
  requests:
    '(timestamp: datetime, id: string, name: string, url: string, success: bool, resultCode: string, duration: real, operation_Name: string, itemCount: int, _BilledSize: real)',
  exceptions: '(timestamp: datetime, type: string, outerMessage: string, operation_Name: string, _BilledSize: real)',
  _LogOperation: '(TimeGenerated: datetime, Category: string, Operation: string, Level: string, Detail: string)',
};

interface Diagnostics {
  readonly Count: number;
  getItem(index: number): { readonly Message: string };
}

const has = (value: unknown, name: string): boolean =>
  (typeof value === 'function' || typeof value === 'object') && value !== null && name in value;

const kustoSchema = z.object({
  Language: z.object({
    Symbols: z.object({
      TableSymbol: z.custom<{ From(columns: string): { WithName(name: string): unknown } }>((value) =>
        has(value, 'From'),
      ),
      DatabaseSymbol: z.custom<{ readonly $ctor1: new (name: string, tables: readonly unknown[]) => unknown }>(
        (value) => has(value, '$ctor1'),
      ),
    }),
    GlobalState: z.custom<{ readonly Default: { WithDatabase(database: unknown): unknown } }>((value) =>
      has(value, 'Default'),
    ),
    KustoCode: z.custom<{ ParseAndAnalyze(query: string, state: unknown): { GetDiagnostics(): Diagnostics } }>(
      (value) => has(value, 'ParseAndAnalyze'),
    ),
  }),
});

// Microsoft's own language service, which the portal uses as well. It is made of scripts that leave a global.
const load = createRequire(import.meta.url);
load('@kusto/language-service-next/bridge.min.js');
load('@kusto/language-service-next/Kusto.Language.Bridge.min.js');
const { Language } = kustoSchema.parse(Reflect.get(globalThis, 'Kusto'));
const state = Language.GlobalState.Default.WithDatabase(
  new Language.Symbols.DatabaseSymbol.$ctor1(
    'logs',
    Object.entries(TABLES).map(([name, columns]) => Language.Symbols.TableSymbol.From(columns).WithName(name)),
  ),
);

/** What is wrong with a query: its syntax, a column or a function that does not exist, a type that does not fit. */
export const objectionsTo = (query: string): readonly string[] => {
  const found = Language.KustoCode.ParseAndAnalyze(query, state).GetDiagnostics();
  return Array.from({ length: found.Count }, (_, index) => found.getItem(index).Message);
};

/** The queries of the alerts. */
export const alertQueries = (): readonly Query[] =>
  descendants(bicepFile('modules/alerts.bicep').root)
    .filter(({ type }) => type === 'object')
    .map((object) => new Map(propertiesOf(object).map(({ key, value }) => [key, value.text])))
    .flatMap((rule) => {
      const [name, query] = [rule.get('name'), rule.get('query')];
      if (name === undefined || query === undefined || !query.startsWith("'")) return [];
      return [{ name: name.replaceAll("'", ''), text: query.replaceAll(/^'+|'+$/g, '') }];
    });

const workbookSchema = z.object({
  version: z.literal('Notebook/1.0'),
  items: z.array(
    z.object({
      type: z.number(),
      content: z.object({ title: z.string().optional(), query: z.string().optional() }),
    }),
  ),
});

/** The queries of the workbook. */
export const workbookQueries = (): readonly Query[] =>
  workbookSchema
    .parse(JSON.parse(readFileSync(new URL('workbook.json', BICEP_FOLDER), 'utf8')))
    .items.flatMap(({ content: { title = '', query } }) => (query === undefined ? [] : [{ name: title, text: query }]));

/** The queries of infra/azure/README.md: those of a block are apart by empty lines, each with a comment that names it. */
export const readmeQueries = (): readonly Query[] =>
  [...readFileSync(new URL('README.md', BICEP_FOLDER), 'utf8').matchAll(/```kusto\n(.*?)```/gs)].flatMap(
    ([, block = '']) =>
      block
        .trim()
        .split('\n\n')
        .map((text) => ({ name: /^\/\/ (.*)\n/.exec(text)?.[1] ?? '', text: text.replace(/^\/\/ .*\n/, '') })),
  );
