import { createHash } from 'node:crypto';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { ScriptedService } from '../cli/scripted-service.ts';
import { startProgram } from '../cli/running.ts';
import { ROOT } from '../docs/markdown.ts';
import { ownDirectory } from '../harness/own-directory.ts';

/** Runs a script with a program (`az`, `gh`) that writes down its arguments and ends with this shell code. */
const runScript = async (
  script: string,
  [program, end]: readonly [name: string, code: string],
  environment: Readonly<Record<string, string>>,
  files: Readonly<Record<string, string>> = {},
) => {
  const cwd = ownDirectory();
  writeFileSync(join(cwd, program), `#!/bin/sh\necho "$*" >> asked\n${end}\n`);
  chmodSync(join(cwd, program), 0o755);
  for (const [name, content] of Object.entries(files)) writeFileSync(join(cwd, name), content);
  const PATH = `${cwd}${delimiter}${process.env['PATH'] ?? ''}`;
  const path = join(ROOT, '.github/scripts', script);
  const { code, printed } = await startProgram('bash', [path], { cwd, environment: { PATH, ...environment } }).ended;
  const asked = join(cwd, 'asked');
  return { code, printed, asked: existsSync(asked) ? readFileSync(asked, 'utf8').trim().split('\n') : [] };
};

const PACKAGE = 'a package';
const DIGEST = createHash('sha256').update(PACKAGE).digest('hex');

/** Deploys to an app whose health has these statuses, one after the other; the last status repeats. */
const deploy = async (statuses: readonly number[], { digest = DIGEST, az = 'exit 0' } = {}) => {
  const service = await ScriptedService.start(({ number, path }) => ({
    status: path === '/api/health' ? (statuses[Math.min(number, statuses.length) - 1] ?? 500) : 404,
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
  const ended = await runScript('deploy-package.sh', ['az', az], environment, files);
  return { ...ended, questions: service.requests };
};

const ROLL_BACK = 'To roll back: gh workflow run deploy.yml --ref <the release before> --field environment=staging';

const fetchRelease = async (release: string, verified: string, attested = 'true') =>
  runScript('fetch-release.sh', ['gh', `if [ "$1" = attestation ]; then exit ${verified}; fi`], {
    RELEASE: release,
    ATTESTED: attested,
    GH_REPO: 'owner/repository',
  });

// The scripts run on GitHub's Linux machines only.
describe.skipIf(process.platform === 'win32')('the scripts of the workflows', () => {
  it('deploy the package once, and succeed after six healthy answers in a row', async () => {
    const { code, printed, asked, questions } = await deploy([503, 200, 200, 503, 200]);
    expect([code, questions]).toEqual([0, 4 + 6]);
    expect(printed).toContain('v1.2.3 is deployed and healthy.');
    expect(asked).toEqual([
      expect.stringMatching(
        /^functionapp deployment source config-zip --resource-group rg-ridge --name func-ridge --src package\.zip --build-remote false/,
      ),
    ]);
  });

  it('fail and say how to roll back if the app stays unhealthy, or az fails', async () => {
    const unhealthy = await deploy([200, 200, 200, 200, 200, 503]);
    expect([unhealthy.code, unhealthy.questions]).toEqual([1, 60]);
    expect(unhealthy.printed).toContain(`v1.2.3 is deployed and not healthy. ${ROLL_BACK}`);
    const failed = await deploy([200], { az: 'exit 1' });
    expect([failed.code, failed.questions, failed.printed]).toEqual([1, 0, expect.stringContaining(ROLL_BACK)]);
  });

  it('deploy no other package than the released package', async () => {
    expect(await deploy([200], { digest: '0'.repeat(64) })).toMatchObject({ code: 1, asked: [] });
  });

  const DOWNLOAD = 'release download v1.2.3 --pattern package.zip*';
  const VERIFY = 'attestation verify package.zip --repo owner/repository';
  it.each([
    ['v1.2.3', '0', 'true', 0, [DOWNLOAD, VERIFY]],
    ['v1.2.3', '1', 'true', 1, [DOWNLOAD, VERIFY]],
    ['v1.2.3', '1', 'false', 0, [DOWNLOAD]],
    ['main', '0', 'true', 1, []],
    ['v1 --repo=x', '0', 'true', 1, []],
  ])(
    'fetch the release %s, whose verification ends with %s (attested: %s): %d',
    async (name, end, attested, code, asked) => {
      expect(await fetchRelease(name, end, attested)).toMatchObject({ code, asked });
    },
  );

  it('mask each address and number of a receiver of alerts, and no country code', async () => {
    const { printed } = await runScript('mask-receivers.sh', ['az', ''], {
      ALERT_EMAIL: 'a@example.org, b@example.org',
      ALERT_SMS: '1 2065550100,64 211234567',
      ALERT_WEBHOOK: 'https://hooks.example.org/x?y=1',
    });
    const masked = ['a@example.org', 'b@example.org', '2065550100', '211234567', 'https://hooks.example.org/x?y=1'];
    expect(printed.trim().split('\n')).toEqual(masked.map((part) => `::add-mask::${part}`));
  });
});
