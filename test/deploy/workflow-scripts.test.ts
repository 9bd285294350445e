import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { ScriptedService } from '../cli/scripted-service.ts';
import { startProgram } from '../cli/running.ts';
import { ROOT } from '../docs/markdown.ts';
import { ownDirectory } from '../harness/own-directory.ts';

type Texts = Readonly<Record<string, string>>;

/** Runs a script with a program (`az`, `gh`) that writes down its arguments and ends with this shell code. */
const runScript = async (script: string, program: string, code: string, environment: Texts, files: Texts = {}) => {
  const cwd = ownDirectory();
  const asked = join(cwd, 'asked');
  writeFileSync(asked, '');
  writeFileSync(join(cwd, program), `#!/bin/sh\necho "$*" >> asked\n${code}\n`, { mode: 0o755 });
  for (const [name, content] of Object.entries(files)) writeFileSync(join(cwd, name), content);
  const PATH = `${cwd}:${process.env['PATH']}`;
  const args = [join(ROOT, '.github/scripts', script)];
  const ended = await startProgram('bash', args, { cwd, environment: { PATH, ...environment } }).ended;
  return { ...ended, asked: readFileSync(asked, 'utf8').split('\n').slice(0, -1) };
};

const PACKAGE = 'a package';
const DIGEST = createHash('sha256').update(PACKAGE).digest('hex');

/** Deploys to an app whose health has these statuses, one after the other; the last status repeats. */
const deploy = async (statuses: readonly number[], { digest = DIGEST, az = 'exit 0' } = {}) => {
  const service = await ScriptedService.start(({ number, path }) => ({
    status: path === '/api/health' ? (statuses[number - 1] ?? statuses.at(-1) ?? 500) : 404,
  }));
  const environment = {
    AZURE_RESOURCE_GROUP: 'rg-ridge',
    SERVICE_API_NAME: 'func-ridge',
    SERVICE_API_URL: service.url,
    RELEASE: 'v1.2.3',
    ENVIRONMENT: 'staging',
    HEALTH_PAUSE_SECONDS: '0.01',
  };
  const files = { 'package.zip': PACKAGE, 'package.zip.sha256': `${digest}  package.zip\n` };
  const ended = await runScript('deploy-package.sh', 'az', az, environment, files);
  return { ...ended, questions: service.requests };
};

const ROLL_BACK = 'To roll back: gh workflow run deploy.yml --ref <the release before> --field environment=staging';
const DOWNLOAD = 'release download v1.2.3 --pattern package.zip*';
const VERIFY = 'attestation verify package.zip --repo owner/repository';

// The scripts run on GitHub's Linux machines only.
describe.skipIf(process.platform === 'win32')('the scripts of the workflows', () => {
  it('deploy the package once, and succeed after six healthy answers in a row', async () => {
    const { printed, asked, ...ended } = await deploy([503, 200, 200, 503, 200]);
    expect(ended).toMatchObject({ code: 0, questions: 4 + 6 });
    expect(printed).toContain('v1.2.3 is deployed and healthy.');
    const [command, ...more] = asked;
    expect(command).toMatch(
      /^functionapp deployment source config-zip --resource-group rg-ridge --name func-ridge --src package\.zip --build-remote false/,
    );
    expect(more).toEqual([]);
  });

  it.each([
    ['the app stays unhealthy', [200, 200, 200, 200, 200, 503], {}, 60, `deployed and not healthy. ${ROLL_BACK}`],
    ['az fails', [200], { az: 'exit 1' }, 0, ROLL_BACK],
    ['the package is not the released package', [200], { digest: '0'.repeat(64) }, 0, 'package.zip: FAILED'],
  ])('fail if %s', async (_, statuses, options, questions, words) => {
    const ended = await deploy(statuses, options);
    expect(ended).toMatchObject({ code: 1, questions, printed: expect.stringContaining(words) });
    expect(ended.asked).toHaveLength('digest' in options ? 0 : 1);
  });

  it.each([
    ['v1.2.3', '0', 'true', 0, [DOWNLOAD, VERIFY]],
    ['v1.2.3', '1', 'true', 1, [DOWNLOAD, VERIFY]],
    ['v1.2.3', '1', 'false', 0, [DOWNLOAD]],
    ['main', '0', 'true', 1, []],
    ['v1 --repo=x', '0', 'true', 1, []],
  ])('fetch the release %s, whose verification ends with %s (attested: %s): %d', async (...row) => {
    const [RELEASE, end, ATTESTED, code, asked] = row;
    const environment = { RELEASE, ATTESTED, GH_REPO: 'owner/repository' };
    const gh = `if [ "$1" = attestation ]; then exit ${end}; fi`;
    expect(await runScript('fetch-release.sh', 'gh', gh, environment)).toMatchObject({ code, asked });
  });

  it('mask each address and number of a receiver of alerts, and no country code', async () => {
    const { printed } = await runScript('mask-receivers.sh', 'az', '', {
      ALERT_EMAIL: 'a@example.org, b@example.org',
      ALERT_SMS: '1 2065550100,64 211234567',
      ALERT_WEBHOOK: 'https://hooks.example.org/x?y=1',
    });
    const masked = ['a@example.org', 'b@example.org', '2065550100', '211234567', 'https://hooks.example.org/x?y=1'];
    expect(printed.trim().split('\n')).toEqual(masked.map((part) => `::add-mask::${part}`));
  });
});
