import { useShown } from './shown.ts';
import { CameraLink } from './view-link.tsx';

/** An https address in a reference is a link, shortened to its host; the id of a known camera is a link, too. */
export const Reference = ({ of }: { readonly of: string }) => {
  const { cameraIds } = useShown();
  return (
    <bdi class="reference">
      {of.split(/(\s+)/).map((text, index) => {
        if (cameraIds.includes(text)) return <CameraLink key={index} id={text} />;
        const url = addressOf(text);
        if (url === undefined) return text;
        return (
          <a key={index} href={text} title={text} target="_blank" rel="noopener noreferrer">
            {shortened(url)}
          </a>
        );
      })}
    </bdi>
  );
};

/** Another scheme might run code. An address with a password may deceive. */
const addressOf = (text: string): URL | undefined => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url?.protocol === 'https:' && url.username === '' && url.password === '' ? url : undefined;
};

const MOST_CHARACTERS = 40;

/** `example.org/…/ridge-4`: the host is never shortened. */
const shortened = ({ host, pathname, search }: URL): string => {
  const path = `${pathname}${search}`.replace(/\/$/, '');
  if (host.length + path.length <= MOST_CHARACTERS) return `${host}${path}`;
  const last = path.slice(path.lastIndexOf('/') + 1);
  return last.length <= MOST_CHARACTERS / 2 ? `${host}/…/${last}` : `${host}/…`;
};
