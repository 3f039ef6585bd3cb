import type { View } from '../barrier/view.ts'
import type { CoreLog } from '../core-log.ts'
import { type CorsSettings, readCorsSettings } from './cors-settings.ts'
import { KeptSetting } from './kept-setting.ts'
import { readUiHeaders, type UiHeaders } from './ui-headers.ts'

/** What is set for pages in browsers. A sealed server goes on with it: nothing of it is secret. */
export type PageSettings = {
  readonly cors: CorsSettings | undefined
  readonly uiHeaders: UiHeaders | undefined
}

type Kept = { readonly [Name in keyof PageSettings]: KeptSetting<NonNullable<PageSettings[Name]>> }

/** Loads the settings for pages. One that cannot be read is logged, and counts as absent. */
export async function openPageSettings(view: View, log: CoreLog): Promise<Kept> {
  const onFailure = (message: string) => (err: unknown) =>
    log.error({ event: 'record_unreadable', err }, message)
  return {
    cors: await KeptSetting.open({
      view,
      key: 'cors',
      parse: readCorsSettings,
      onFailure: onFailure(
        'could not read the CORS settings; no origin is allowed until they are written again',
      ),
    }),
    uiHeaders: await KeptSetting.open({
      view,
      key: 'ui-headers',
      parse: readUiHeaders,
      onFailure: onFailure('could not read the headers of the web UI; it is served with its own'),
    }),
  }
}

export const currentOf = ({ cors, uiHeaders }: Kept): PageSettings => ({
  cors: cors.current,
  uiHeaders: uiHeaders.current,
})
