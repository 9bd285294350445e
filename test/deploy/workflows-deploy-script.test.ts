import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

import { describe, expect, it, onTestFinished } from 'vitest';

import { LoopbackServer } from '../harness/loopback-server.ts';

const SCRIPT = fileURLToPath(new URL('../../.github/scripts/deploy-package.sh', import.meta.url));

const FETCH_SCRIPT = fileURLToPath(new URL('../../.github/scripts/fetch-release.sh', import.meta.url));

/** An app that answers one health question after the other with these statuses, and the last one from then on. */
const appThatAnswers = async (statuses: readonly number[]): Promise<{ readonly url: string; asked(): number }> => {
  let asked = 0;
  const server = await LoopbackServer.start((request, response) => {
    const isHealth = request.url === '/api/health';
    response.writeHead(isHealth ? (statuses[Math.min(asked, statuses.length - 1)] ?? 500) : 404).end();
    asked += 1;
  });
  onTestFinished(() => server.stop());
  return { url: `http://127.0.0.1:${server.port}`, asked: () => asked };
};

/** Runs the script where `az` is a program that writes down its arguments. */
const deploy = async (
  url: string,
  { digest, az = 'exit 0' }: { readonly digest?: string; readonly az?: string } = {},
) => {
  const directory = mkdtempSync(join(tmpdir(), 'wildfire-camera-activity-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  writeFileSync(join(directory, 'az'), `#!/bin/sh\nprintf '%s\\n' "$@" > az-arguments\n${az}\n`);
  chmodSync(join(directory, 'az'), 0o755);
  writeFileSync(join(directory, 'package.zip'), 'a package');
  const actual = createHash('sha256').update('a package').digest('hex');
  writeFileSync(join(directory, 'package.zip.sha256'), `${digest ?? actual}  package.zip\n`);
  const child = spawn('bash', [SCRIPT], {
    cwd: directory,
    env: {
      PATH: `${directory}${delimiter}${process.env['PATH'] ?? ''}`,
      AZURE_RESOURCE_GROUP: 'rg-ridge',
      SERVICE_API_NAME: 'func-ridge',
      SERVICE_API_URL: url,
      RELEASE: 'v1.2.3',
      ENVIRONMENT: 'staging',
      DEPLOY_SECONDS: '1',
      HEALTH_PAUSE_SECONDS: '0.01',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [said] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  const log = join(directory, 'az-arguments');
  return {
    code: child.exitCode,
    said,
    asked: existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : undefined,
  };
};

// The script runs on GitHub's Linux machines only.
describe.skipIf(process.platform === 'win32')('the script that deploys', () => {
  it('deploys the package once, and is content when the app has been healthy for a while', async () => {
    const app = await appThatAnswers([503, 200, 200, 503, 200]);
    const { code, said, asked: az } = await deploy(app.url);
    expect(said).toContain('v1.2.3 is deployed and healthy.');
    expect(code).toBe(0);
    expect(app.asked()).toBe(4 + 6);
    expect(az?.slice(0, 4)).toEqual(['functionapp', 'deployment', 'source', 'config-zip']);
    expect(az?.join(' ')).toContain(
      '--resource-group rg-ridge --name func-ridge --src package.zip --build-remote false',
    );
  });

  it('fails and says how to roll back where the app does not get healthy', async () => {
    const { code, said } = await deploy((await appThatAnswers([200, 200, 200, 200, 200, 503])).url);
    expect(code).toBe(1);
    expect(said).toContain('v1.2.3 is deployed and not healthy. To roll back: gh workflow run deploy.yml --ref');
  });

  it('does not deploy a package that is not the one that was released', async () => {
    const app = await appThatAnswers([200]);
    const { code, asked: az } = await deploy(app.url, { digest: '0'.repeat(64) });
    expect(code).not.toBe(0);
    expect(az).toBeUndefined();
  });

  it('fails and says how to roll back where Azure refuses the package or does not answer, and does not ask the old version for its health', async () => {
    const app = await appThatAnswers([200]);
    for (const az of ['exit 1', 'sleep 60']) {
      const { code, said } = await deploy(app.url, { az });
      expect(code).toBe(1);
      expect(said).toContain(
        'To roll back: gh workflow run deploy.yml --ref <the release before> --field environment=staging',
      );
    }
    expect(app.asked()).toBe(0);
  });
});

/** Runs the script that fetches a release where `gh` is a program that writes down its arguments. */
const fetchRelease = (release: string, verifyEndsWith = 0) => {
  const directory = mkdtempSync(join(tmpdir(), 'wildfire-camera-activity-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const gh = `#!/bin/sh\necho "$*" >> asked\nif [ "$1" = attestation ]; then exit ${verifyEndsWith}; fi\n`;
  writeFileSync(join(directory, 'gh'), gh);
  chmodSync(join(directory, 'gh'), 0o755);
  const { status } = spawnSync('bash', [FETCH_SCRIPT], {
    cwd: directory,
    env: {
      PATH: `${directory}${delimiter}${process.env['PATH'] ?? ''}`,
      RELEASE: release,
      GH_REPO: 'owner/repository',
    },
  });
  const asked = join(directory, 'asked');
  return { status, asked: existsSync(asked) ? readFileSync(asked, 'utf8').trim().split('\n') : [] };
};

describe.skipIf(process.platform === 'win32')('the script that fetches a release', () => {
  it('fetches the package of a tag and checks its provenance', () => {
    expect(fetchRelease('v1.2.3')).toEqual({
      status: 0,
      asked: [
        'release download v1.2.3 --pattern package.zip*',
        'attestation verify package.zip --repo owner/repository',
      ],
    });
    expect(fetchRelease('v1.2.3', 1).status).toBe(1);
  });

  it.each(['main', 'version-2', 'v', '--repo=x', 'v1 --repo=x'])('takes %s for no release', (name) => {
    expect(fetchRelease(name)).toEqual({ status: 1, asked: [] });
  });
});
