// workbook.json as a page in the portal: Application Insights → Workbooks.
param name string
param location string
param tags object
param insightsName string

resource insights 'Microsoft.Insights/components@2020-02-02' existing = {
  name: insightsName
}

resource workbook 'Microsoft.Insights/workbooks@2023-06-01' = {
  // The name of a workbook has to be a GUID.
  name: guid(insights.id, 'wildfire')
  location: location
  tags: tags
  kind: 'shared'
  properties: {
    displayName: name
    category: 'workbook'
    sourceId: insights.id
    version: 'Notebook/1.0'
    serializedData: loadTextContent('../workbook.json')
  }
}
