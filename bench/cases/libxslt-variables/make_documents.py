"""A list of orders, and two stylesheets that write it as text: a variable by `select`, and one by content."""

import sys
from pathlib import Path

STYLESHEET = """<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
<xsl:output method="text"/>
<xsl:template match="/orders">
<xsl:for-each select="order">
<xsl:sort select="@total" data-type="number"/>
{variable}
<xsl:value-of select="concat(position(), ': ', $customer, ' pays ', format-number(@total, '#,##0.00'))"/>
<xsl:for-each select="item[@count > 3]"><xsl:value-of select="concat(' ', @count, 'x', @name)"/></xsl:for-each>
<xsl:text>&#10;</xsl:text>
</xsl:for-each>
</xsl:template>
</xsl:stylesheet>
"""

folder = Path(sys.argv[1])
selected = """<xsl:variable name="customer" select="normalize-space(@customer)"/>"""
content = """<xsl:variable name="customer"><xsl:value-of select="normalize-space(@customer)"/></xsl:variable>"""
(folder / "select.xsl").write_text(STYLESHEET.replace("{variable}", selected))
(folder / "content.xsl").write_text(STYLESHEET.replace("{variable}", content))
orders = []
for number in range(25_000):
    items = "".join(f'<item name="part{part}" count="{(number + part) % 7}"/>' for part in range(12))
    orders.append(f'<order customer=" Customer {number * 7919 % 9973} " total="{number * 31 % 8191}.5">{items}</order>')
(folder / "orders.xml").write_text("<orders>\n" + "\n".join(orders) + "\n</orders>\n")
