import { linksOf } from '../model/reference.ts';
import { CameraLink } from './view-link.tsx';

/** What a notification is about: an https address in it is a link, and so is the name of a camera. */
export const Reference = ({ of, cameraIds }: { readonly of: string; readonly cameraIds: readonly string[] }) => (
  <bdi class="reference">
    {linksOf(of, cameraIds).map(({ text, to }, index) =>
      to === 'camera' ? (
        <CameraLink key={index} id={text} />
      ) : to === 'address' ? (
        <a key={index} href={text} target="_blank" rel="noopener noreferrer">
          {text}
        </a>
      ) : (
        text
      ),
    )}
  </bdi>
);
