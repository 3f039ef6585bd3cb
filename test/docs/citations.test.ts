import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
const read = (file: string) => readFileSync(join(root, file), 'utf8')
const files = (...patterns: string[]) => patterns.flatMap((pattern) => globSync(pattern, { cwd: root }))

/**
 * The anchors of a page, formed as GitHub forms them: lower case, no punctuation, hyphens for blanks, `-1`
 * for a repeated heading.
 */
function anchorsOf(page: string): Set<string> {
  const anchors = new Set<string>()
  for (const [, heading = ''] of withoutCode(read(page)).matchAll(/^#{1,6} +(.+)$/gm)) {
    const text = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').replaceAll('`', '')
    const slug = text
      .trim()
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\p{M} _-]/gu, '')
      .replaceAll(' ', '-')
    let anchor = slug
    for (let copy = 1; anchors.has(anchor); copy += 1) anchor = `${slug}-${copy}`
    anchors.add(anchor)
  }
  return anchors
}

const withoutCode = (text: string) => text.replace(/^```[\s\S]*?^```/gm, '')

/** Why a citation is broken, or undefined. */
function fault(page: string, anchor: string | undefined): string | undefined {
  if (!existsSync(join(root, page))) return `${page} does not exist`
  if (anchor !== undefined && page.endsWith('.md') && !anchorsOf(page).has(anchor))
    return `${page} has no heading #${anchor}`
  return undefined
}

describe('everything that sources and pages refer to exists', () => {
  test('every page that a comment cites exists and has the cited section', () => {
    const sources = files('{src,test,simulators,bench}/**/*.{ts,js,sql}')
    const citations = sources.flatMap((source) =>
      [...read(source).matchAll(/\bdocs\/[\w/-]+\.md(?:#([\w-]+))?/g)].map(([whole, anchor]) => ({
        source,
        page: whole.split('#')[0] ?? '',
        anchor,
      })),
    )
    const broken = citations.flatMap(({ source, page, anchor }) => {
      const reason = fault(page, anchor)
      return reason === undefined ? [] : [`${source}: ${reason}`]
    })

    expect(citations.length).toBeGreaterThan(20)
    expect(broken).toEqual([])
  })

  test('every relative link of a page leads to a file, and to a heading if it names one', () => {
    const pages = files('*.md', 'docs/**/*.md', 'simulators/**/*.md')
    const broken = pages.flatMap((page) =>
      [...withoutCode(read(page)).matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, target = '']) => {
        if (/^[a-z]+:/.test(target)) return []
        const [path = '', anchor] = target.split('#')
        const reason = fault(path === '' ? page : normalize(join(dirname(page), path)), anchor)
        return reason === undefined ? [] : [`${page}: ${reason}`]
      }),
    )

    expect(pages.length).toBeGreaterThan(20)
    expect(broken).toEqual([])
  })
})
